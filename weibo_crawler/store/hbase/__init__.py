"""The tables in HBase, by its Thrift server; nothing else imports happybase."""
