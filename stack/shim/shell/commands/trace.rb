# frozen_string_literal: true

# The shell of HBase 2.4 on the jars of 2.6: of all its commands `trace` alone cannot load there,
# and the shell refuses to start without it. This file stands before the shell's on the class path.
module Shell
  module Commands
    class Trace < Command
      def help
        'Tracing is not available in this shell.'
      end

      def command(*_args)
        raise ArgumentError, help
      end
    end
  end
end
