-- Which user (uid) an application runs as: by the list of packages, else by its processes.
SELECT package_name AS name, uid FROM package_list WHERE package_name IS NOT NULL AND uid IS NOT NULL
UNION
SELECT name, uid FROM process WHERE name IS NOT NULL AND uid IS NOT NULL;
