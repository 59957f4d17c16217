package org.apache.hadoop.mapred;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;

/**
 * The shuffle of MapReduce, on the address of its node alone.
 *
 * <p>Hadoop's own listens on all addresses and has no setting for it (3.4.2). Everything else is
 * inherited; the start leaves out what the stack does not use, TLS and recovery. It stands in
 * Hadoop's package because the handler of the connections is not public.
 */
public class LoopbackShuffle extends ShuffleHandler {
  private final NioEventLoopGroup accepting = new NioEventLoopGroup(1);
  private final NioEventLoopGroup working = new NioEventLoopGroup(2);
  private int port;

  @Override
  protected void serviceStart() throws Exception {
    userRsrc = new ConcurrentHashMap<>();
    secretManager = new JobTokenSecretManager();
    ShuffleChannelHandlerContext context = createHandlerContext();
    ServerBootstrap bootstrap = new ServerBootstrap();
    bootstrap
        .group(accepting, working)
        .channel(NioServerSocketChannel.class)
        .childHandler(new ShuffleChannelInitializer(context, null));
    port = getConfig().getInt(SHUFFLE_PORT_CONFIG_KEY, DEFAULT_SHUFFLE_PORT);
    String host = getConfig().get("yarn.nodemanager.bind-host");
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(host), port);
    Channel channel = bootstrap.bind(address).sync().channel();
    allChannels.add(channel);
    context.setPort(port);
  }

  @Override
  public synchronized ByteBuffer getMetaData() {
    try {
      return serializeMetaData(port);
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error); // it writes four bytes into memory
    }
  }

  @Override
  protected void serviceStop() throws Exception {
    super.serviceStop();
    accepting.shutdownGracefully();
    working.shutdownGracefully();
  }
}
