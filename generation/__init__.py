"""A brief becomes text becomes audio; audio from elsewhere comes in here too."""
