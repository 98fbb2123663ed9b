-- Network packets (Android 14 and later), several of one connection possibly summed up in one row of some duration.
INCLUDE PERFETTO MODULE android.network_packets;
SELECT ts, dur, package_name, direction, packet_length AS bytes
FROM android_network_packets
ORDER BY ts;
