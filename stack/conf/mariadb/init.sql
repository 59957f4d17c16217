-- run at every start. The account is made for both hosts: an anonymous user of localhost would
-- go before '%'.
CREATE DATABASE IF NOT EXISTS weibo CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE OR REPLACE USER 'weibo'@'localhost' IDENTIFIED BY '@mariadb.password@';
CREATE OR REPLACE USER 'weibo'@'%' IDENTIFIED BY '@mariadb.password@';
GRANT ALL ON `weibo%`.* TO 'weibo'@'localhost';
GRANT ALL ON `weibo%`.* TO 'weibo'@'%';
DELETE FROM mysql.global_priv WHERE User = '';
FLUSH PRIVILEGES;
