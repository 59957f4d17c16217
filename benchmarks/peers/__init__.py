"""What people use instead, written as its own documentation advises: each a script that does the
same work and prints one line of JSON, {"pages": distinct pages, "seconds": first request to last
commit}. Arguments: the site's address, a file of seeds (or users), the SQLite file to write."""
