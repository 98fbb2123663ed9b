-- A power profile that was added by mistake can be removed; what was estimated by it still names it.
ALTER TABLE core.power_profiles ADD COLUMN removed_at TIMESTAMPTZ;
