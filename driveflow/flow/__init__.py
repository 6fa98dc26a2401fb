"""What a flow file and a profile say."""
