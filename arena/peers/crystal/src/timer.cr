# A timer that wakes its fiber as a socket would. The event loop's own timers end at the next millisecond.
{% if flag?(:linux) %}
  lib LibTimer
    struct Spec
      interval : LibC::Timespec
      value : LibC::Timespec
    end

    NONBLOCK = 0o4000

    fun timerfd_create(clock : LibC::Int, flags : LibC::Int) : LibC::Int
    fun timerfd_settime(fd : LibC::Int, flags : LibC::Int, new : Spec*, old : Spec*) : LibC::Int
  end

  class ExactTimer
    @io : IO::FileDescriptor
    @expirations = Bytes.new(8)

    def initialize
      fd = LibTimer.timerfd_create(LibC::CLOCK_MONOTONIC, LibTimer::NONBLOCK)
      raise RuntimeError.from_errno("timerfd_create") if fd < 0
      @io = IO::FileDescriptor.new(fd, blocking: false)
    end

    def sleep(span : Time::Span)
      spec = LibTimer::Spec.new
      spec.value.tv_sec = span.to_i
      spec.value.tv_nsec = span.nanoseconds
      raise RuntimeError.from_errno("timerfd_settime") if LibTimer.timerfd_settime(@io.fd, 0, pointerof(spec), nil) < 0
      @io.read_fully(@expirations)
    end

    def close
      @io.close
    end
  end
{% else %}
  class ExactTimer
    def sleep(span : Time::Span)
      ::sleep(span)
    end

    def close
    end
  end
{% end %}
