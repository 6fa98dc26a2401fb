"""Truth and predictions of any format, read into what an evaluation works on; no picture needs to be there."""
