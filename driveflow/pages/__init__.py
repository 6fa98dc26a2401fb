"""Self-contained HTML pages and pictures for people."""
