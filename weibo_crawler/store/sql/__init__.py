"""What both databases of the userlist share, over one kind of cursor."""
