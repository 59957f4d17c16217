"""The userlist in MySQL or MariaDB; nothing else imports pymysql."""
