"""Parts of pages: HTML, drawings and tables, for reports and for notebooks."""
