"""Tables: parquet, csv, jsonl, datasets."""
