-- Barycenters are shared by runs, so no run's number leads to them, and to look for a few ids of 64 letters among all took
-- as long as there were many. A number that is made of the id is compared five to ten times as fast.
ALTER TABLE core.barycenters ADD COLUMN barycenter_digest BIGINT;
UPDATE core.barycenters SET barycenter_digest = ('0x' || left(sha256(barycenter_id), 15))::BIGINT;
