# frozen_string_literal: true

# The tables of weibo_crawler, for the HBase shell of any cluster:
#
#   echo "load 'conf/hbase_schema.rb'" | hbase shell -n
#
# Tables that are missing are created: 16 regions cut by salt, GZ, bloom filters by row, unless
# variables say otherwise. Tables that exist are left as they are: each difference is printed in a
# line that begins with "differs: ", and the last line says how many there are. May be repeated.
# Families and versions are those of weibo_crawler/store/rows/cells.py (a test compares them).
#
#   WEIBO_TABLE_NAMESPACE    a namespace, made where it is missing: weibo gives weibo:userlist
#   WEIBO_TABLE_PREFIX       a prefix, as happybase's table_prefix: dev gives dev_userlist
#   WEIBO_KEEP_VERSIONS      how many versions of the counts of a post are kept; default 100
#   WEIBO_RAW_TTL_DAYS       how long answers are kept as they were received; default 90
#   WEIBO_TABLE_REGIONS      of a new table, cut by salt: 1 to 256; default 16
#   WEIBO_TABLE_COMPRESSION  what the region servers can: NONE, GZ (default), SNAPPY, LZ4, ZSTD, …
#   WEIBO_TABLE_ENCODING     of blocks: NONE (default), PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1

require 'java'

# Makes and compares the tables, through the Admin interface: the shell's own commands cannot be
# called from a file that is loaded, and differ between versions.
class WeiboSchema
  Client = org.apache.hadoop.hbase.client
  FOREVER = 2_147_483_647
  CHOSEN = { 'REGIONS' => '16', 'COMPRESSION' => 'GZ', 'ENCODING' => 'NONE' }.freeze

  def initialize(admin, environment)
    @admin = admin
    @namespace = environment.fetch('WEIBO_TABLE_NAMESPACE', '')
    @prefix = environment.fetch('WEIBO_TABLE_PREFIX', '')
    @keep_versions = Integer(environment.fetch('WEIBO_KEEP_VERSIONS', '100'), 10)
    @raw_days = Integer(environment.fetch('WEIBO_RAW_TTL_DAYS', '90'), 10)
    raise ArgumentError, "WEIBO_RAW_TTL_DAYS is at least 1, not #{@raw_days}" if @raw_days < 1

    choose(CHOSEN.to_h { |name, given| [name, environment.fetch("WEIBO_TABLE_#{name}", given)] })
  end

  # table -> family -> what is not as in all of them
  def tables
    { 'userlist' => { 'user' => { versions: 3 }, 'profile' => { versions: 5 }, 'crawl' => {} },
      'posts' => { 'post' => { versions: 5 }, 'count' => { versions: @keep_versions },
                   'raw' => { ttl: @raw_days * 86_400 } },
      'comments' => { 'comment' => { versions: 3 } },
      'reposts' => { 'repost' => { versions: 3 } } }
  end

  def run
    make_namespace
    count = tables.sum do |table, families|
      name = full_name(table)
      wanted = families.transform_values { |own| @common.merge(own) }
      @admin.tableExists(name) ? compare(name, wanted) : create(name, wanted)
    end
    puts count.zero? ? 'schema: as it should be' : "schema: #{count} differences"
  end

  private

  def choose(chosen)
    @regions = Integer(chosen['REGIONS'], 10)
    raise ArgumentError, "WEIBO_TABLE_REGIONS is 1 to 256, not #{@regions}" unless @regions.between?(1, 256)

    @common = { versions: 1, ttl: FOREVER, bloomfilter: 'ROW', compression: chosen['COMPRESSION'].upcase,
                encoding: chosen['ENCODING'].upcase }
  end

  def full_name(table)
    local = @prefix.empty? ? table : "#{@prefix}_#{table}"
    org.apache.hadoop.hbase.TableName.valueOf(@namespace.empty? ? local : "#{@namespace}:#{local}")
  end

  def make_namespace
    return if @namespace.empty?
    return if @admin.listNamespaceDescriptors.any? { |each| each.getName == @namespace }

    @admin.createNamespace(org.apache.hadoop.hbase.NamespaceDescriptor.create(@namespace).build)
    puts "created: namespace #{@namespace}"
  rescue org.apache.hadoop.hbase.NamespaceExistException
    puts "exists: namespace #{@namespace}" # somebody else made it meanwhile
  end

  def create(name, wanted)
    builder = Client::TableDescriptorBuilder.newBuilder(name)
    wanted.each { |family, values| builder.setColumnFamily(descriptor(family, values)) }
    splits = (1...@regions).map { |n| format('%02x', n * 256 / @regions).to_java_bytes }
    @admin.createTable(builder.build, splits.to_java(Java::byte[]))
    puts "created: #{name}, #{@regions} regions"
    0
  rescue org.apache.hadoop.hbase.TableExistsException # somebody else made it meanwhile
    compare(name, wanted)
  end

  def descriptor(family, values)
    compression = org.apache.hadoop.hbase.io.compress.Compression::Algorithm
    encoding = org.apache.hadoop.hbase.io.encoding.DataBlockEncoding
    bloom = org.apache.hadoop.hbase.regionserver.BloomType
    Client::ColumnFamilyDescriptorBuilder.newBuilder(family.to_java_bytes)
                                         .setMaxVersions(values[:versions])
                                         .setTimeToLive(values[:ttl])
                                         .setCompressionType(compression.valueOf(values[:compression]))
                                         .setDataBlockEncoding(encoding.valueOf(values[:encoding]))
                                         .setBloomFilterType(bloom.valueOf(values[:bloomfilter]))
                                         .build
  end

  # Prints the differences; returns how many there are.
  def compare(name, wanted)
    held = @admin.getDescriptor(name).getColumnFamilies.to_h { |each| [each.getNameAsString, each] }
    found = (wanted.keys - held.keys).map { |family| "family #{family} is missing" }
    found += (held.keys - wanted.keys).map { |family| "family #{family} is not of the schema" }
    (wanted.keys & held.keys).each do |family|
      is = attributes(held[family])
      wanted[family].reject { |key, value| is[key] == value }.each do |key, value|
        found << "family #{family}: #{key.upcase} is #{is[key]}, should be #{value}"
      end
    end
    found.each { |line| puts "differs: #{name} #{line}" }
    puts "exists: #{name}" if found.empty?
    found.size
  end

  def attributes(family)
    { versions: family.getMaxVersions, ttl: family.getTimeToLive,
      compression: family.getCompressionType.getName.upcase,
      encoding: family.getDataBlockEncoding.toString,
      bloomfilter: family.getBloomFilterType.toString }
  end
end

configuration = org.apache.hadoop.hbase.HBaseConfiguration.create
connection = org.apache.hadoop.hbase.client.ConnectionFactory.createConnection(configuration)
begin
  WeiboSchema.new(connection.getAdmin, ENV).run
ensure
  connection.close
end
