# A program that follows the protocol: whatever it is told, five iterations.
for i in 0 1 2 3 4; do
  echo "{\"phase\": \"measure\", \"thread\": 0, \"iteration\": $i, \"count\": 1000, \"elapsed_ns\": 25000$i}"
done
