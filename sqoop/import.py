"""Users from MariaDB or MySQL into HBase by Sqoop 1.4.7: `weibo-crawler import --via sqoop`.

    python sqoop/import.py [--config FILE] [--from-start] [--paper]

The addresses, the account and Sqoop's command are those of the settings (conf/crawler.toml).
"""

import sys

from weibo_crawler.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["import", "--via", "sqoop", *sys.argv[1:]]))
