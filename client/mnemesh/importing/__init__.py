"""Files of other programs as memories and transcripts, and memories as files."""
