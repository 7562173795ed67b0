"""What can every result do? It says what its fields are: text, HTML, Markdown, LaTeX, frames and JSON follow."""
