-- The frequencies that each core can run at, kHz, as the kernel told (data source linux.system_info).
SELECT cpu, freq AS khz FROM cpu_available_frequencies WHERE freq > 0;
