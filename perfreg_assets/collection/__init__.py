"""The device side: adb, Perfetto configuration, explorers, and the run folder they leave."""
