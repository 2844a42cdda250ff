"""What bench/compare.py measures of each memory: speed, faults, recall and deletion."""
