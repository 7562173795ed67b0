"""My data are in tables: parquet, csv, jsonl, datasets."""
