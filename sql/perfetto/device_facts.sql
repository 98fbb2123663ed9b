-- What the recorder wrote down about the device and itself; one that it does not know has no row.
SELECT name, coalesce(str_value, cast(int_value AS TEXT)) AS told
FROM metadata
WHERE name IN (
    'android_build_fingerprint', 'android_sdk_version', 'system_name', 'system_release', 'system_machine'
);
