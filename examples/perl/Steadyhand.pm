package Steadyhand;

# PSGI middleware that reports the cost of each request to `steady agent`, see docs/middleware.md.
# It needs only Debian's perl-base.
#
#     use Steadyhand;
#     $app = Steadyhand->wrap($app, service => 'shop', version => 'v2');
#     $app = Steadyhand->split($old, $new, service => 'shop', versions => ['v1', 'v2'], share => 0.5);
#     $app = Steadyhand->switchback($old, $new, service => 'shop', versions => ['v1', 'v2'], seconds => 2);
#
# Also: assigned => 'canary', route => sub { my $env = shift; ... }, rulers => 0, socket => '/path'.
# It is for servers whose processes or threads serve one request at a time.

use strict;
use warnings;
use Socket qw(AF_UNIX SOCK_DGRAM MSG_DONTWAIT MSG_NOSIGNAL pack_sockaddr_un);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_THREAD_CPUTIME_ID);

# A batch of lines is sent once it has this many lines or is this old, in nanoseconds. RETRY_NS is the pause after an
# error. LONGEST is the maximum length of a field in bytes.
use constant { BATCH => 32, BATCH_NS => 50_000_000, RETRY_NS => 1_000_000_000, LONGEST => 500, MOST_ROUTES => 500 };
# Ruler readings per second, the share of a CPU that they may use, and the CPU time in nanoseconds that they may use in
# advance. DELAY_SHARE is the share of the requests with a ruler reading whose time waiting for a CPU is read too.
use constant { READINGS_PER_SECOND => 25, RULER_BUDGET => 0.005, RULER_ADVANCE_NS => 500_000, DELAY_SHARE => 0.25 };

my %reporters;

sub now { int(1e9 * clock_gettime(CLOCK_MONOTONIC)) }
sub cpu { int(1e9 * clock_gettime(CLOCK_THREAD_CPUTIME_ID)) }

sub wrap {
    my ($class, $app, %option) = @_;
    my @choice = ($app, name(version => $option{version}), $option{assigned} // 'none');
    die "assigned must be 'none' or 'canary', not '$choice[2]'\n" unless $choice[2] =~ /\A(?:none|canary)\z/;
    return middleware(sub { @choice }, %option);
}

sub split {
    my ($class, $old, $new, %option) = @_;
    my ($first, $second) = map { name(versions => $_) } @{ $option{versions} }[0, 1];
    my $share = $option{share} // 0.5;
    return middleware(sub { coin() < $share ? ($new, $second, 'random') : ($old, $first, 'random') }, %option);
}

sub switchback {
    my ($class, $old, $new, %option) = @_;
    require Digest::SHA;
    my @versions = @{ $option{versions} }[0, 1];
    my ($first, $second) = map { name(versions => $_) } @versions;
    my $seconds = $option{seconds} // 2;
    die "seconds must be an integer of at least 1, not '$seconds'\n" unless $seconds =~ /\A[1-9][0-9]*\z/;
    my $host = read_line('/proc/sys/kernel/random/boot_id');
    my ($known, @choice) = (-1);
    return middleware(sub {
        my $slot = int(clock_gettime(CLOCK_MONOTONIC) / $seconds);
        if ($slot != $known) {
            my @words = map { octets($_) } $host, $option{service}, @versions, $seconds, int($slot / 2);
            my $coin = 1 & ord Digest::SHA::sha256(join '', map { length($_) . ":$_" } @words);
            my $assignment = "slot\tslot=$seconds:" . $slot * $seconds;
            @choice = ($slot % 2) ^ $coin ? ($new, $second, $assignment) : ($old, $first, $assignment);
            $known = $slot;
        }
        @choice;
    }, %option);
}

# Returns what this process has sent for a service, or for all services, and the last error.
sub status {
    my ($class, $service) = @_;
    return map { +{ %$_{qw(service pid number sent dropped why)}, rulers => $_->{readings} } }
        grep { !defined $service || $_->{service} eq $service } values %reporters;
}

sub middleware {
    my ($choose, %option) = @_;
    my $path = $option{socket} // $ENV{STEADY_SOCKET}
        // ($ENV{XDG_RUNTIME_DIR} ? "$ENV{XDG_RUNTIME_DIR}/steady/agent.sock" : "/tmp/steady-$>/agent.sock");
    my $service = $option{service};
    name(service => $service);
    my $reporter = $reporters{"$service\0$path"} //= { service => $service, path => $path, pid => 0 };
    my ($route, $rulers) = ($option{route}, $option{rulers} // 1);
    return sub {
        my ($env) = @_;
        begin($reporter) if $reporter->{pid} != $$;
        my ($app, $version, $tail) = $choose->();
        my ($reading, $delay) = $rulers ? ruler($reporter) : ('');
        my $request = Steadyhand::Request->new($reporter, $env, $route, $version, $tail . $reading, $delay);
        my $response = eval { $app->($env) };
        if (!defined $response) {
            my $error = $@;
            $request->end(0);
            die $error;
        }
        return ref $response eq 'CODE' ? $request->delayed($response) : $request->whole($response);
    };
}

sub begin {
    my ($reporter) = @_;
    # After a fork, the child must not use the state of its parent.
    @$reporter{qw(pid began number sent dropped unreported readings ruler_cpu due retry_at)} = ($$, now(), (0) x 8);
    @$reporter{qw(socket identity why)} = ();
    @$reporter{qw(lines routes chance rate_since rate_number)} = ([], {}, 1, $reporter->{began}, 0);
    $reporter->{head} = "steady/1\t" . field($reporter->{service}) . "\t$$\t$reporter->{began}\n";
}

# The `syscall` ruler: 30 short system calls and a byte through a pipe. It is written in Perl, because Perl cannot call
# the C library without a compiled module.
sub ruler {
    my ($reporter) = @_;
    return '' unless coin() < $reporter->{chance};
    my ($begin, $now) = (cpu(), now());
    if ($now - $reporter->{rate_since} > 250_000_000) {
        my $rate = ($reporter->{number} - $reporter->{rate_number}) / ($now - $reporter->{rate_since}) * 1e9;
        $reporter->{chance} = $rate > READINGS_PER_SECOND ? READINGS_PER_SECOND / $rate : 1;
        @$reporter{qw(rate_since rate_number)} = ($now, $reporter->{number});
    }
    return '' if $reporter->{ruler_cpu} > RULER_ADVANCE_NS + RULER_BUDGET * ($now - $reporter->{began});
    my $reading = '';
    if (pipe(my $from, my $to)) {
        my ($byte, $start) = ('.', cpu());
        # Perl does not cache the result of getppid, so each call enters the kernel.
        my $parent;
        $parent = getppid() for 1 .. 30;
        my $passed = syswrite($to, $byte) && sysread($from, $byte, 1);
        my $took = cpu() - $start;
        $reading = "\truler=syscall:$took" if $passed && $took > 0;
    }
    # The waiting time so far. It is subtracted from the waiting time at the end of the request.
    my $delay = $reading && coin() < DELAY_SHARE ? run_delay() : undef;
    $reporter->{readings}++ if $reading;
    $reporter->{ruler_cpu} += (cpu() - $begin) * (defined $delay ? 1.5 : 1);
    return ($reading, $delay);
}

sub run_delay {
    my (undef, $waited) = CORE::split ' ', read_line('/proc/thread-self/schedstat');
    return $waited;
}

sub read_line {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    sysread $file, my $text, 200;
    return $text =~ /\A([^\n]*)/ ? $1 : '';
}

# Returns a random number from 0 to 1 from the kernel. A forked child does not use the pool of its parent.
my ($pool, $pool_of) = ('', 0);
sub coin {
    if ($pool_of != $$ || length $pool < 4) {
        open my $source, '<:raw', '/dev/urandom' or return rand;
        sysread $source, $pool, 1024;
        $pool_of = $$;
    }
    return unpack('N', substr $pool, 0, 4, '') / 2**32;
}

sub octets {
    my ($text) = @_;
    my $copy = $text;
    utf8::encode($text) if utf8::is_utf8($text) || !utf8::decode($copy);
    return $text;
}

# Returns the name of a service or version as a field. The agent rejects empty names, and two names may be the same
# when they are cut.
sub name {
    my ($option, $text) = @_;
    die "the middleware needs the option '$option', and a name must not be empty\n" unless length($text // '');
    my $size = length octets($text);
    die "the name of the option '$option' has $size bytes; at most @{[LONGEST]} are possible\n" if $size > LONGEST;
    return field($text);
}

my %escapes = ("\\" => '\\\\', "\t" => '\\t', "\n" => '\\n', "\r" => '\\r');
sub field {
    my $text = octets($_[0]);
    $text =~ s/([\\\t\n\r])/$escapes{$1}/g;
    return $text if length $text <= LONGEST;
    $text = substr $text, 0, LONGEST;
    # Do not cut a UTF-8 character or an escape sequence in half.
    1 while $text =~ s/[\x80-\xbf]\z//;
    $text =~ s/[\xc0-\xff]\z//;
    $text =~ s/(?<!\\)((?:\\\\)*)\\\z/$1/;
    return $text;
}

sub route_of {
    my ($reporter, $env, $given) = @_;
    my $route = $given ? eval { $given->($env) } // '(no route)' : $env->{'steadyhand.route'};
    if (!defined $route) {
        my $number = qr/[0-9]+|(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*/i;
        $route = join '/', map { /\A$number\z/ ? '<n>' : $_ } CORE::split m{/}, ($env->{PATH_INFO} // ''), -1;
    }
    my $routes = $reporter->{routes};
    return $routes->{$route} //= keys %$routes < MOST_ROUTES ? field($route) : return '(other)';
}

sub report {
    my ($reporter, $now, $line) = @_;
    push @{ $reporter->{lines} }, $line;
    deliver($reporter, $now) if $now >= $reporter->{due} || @{ $reporter->{lines} } >= BATCH;
}

sub deliver {
    my ($reporter, $now) = @_;
    my @lines = splice @{ $reporter->{lines} };
    if ($now >= $reporter->{retry_at}) {
        my $unreported = $reporter->{unreported};
        my $datagram = join '', $reporter->{head}, $unreported ? "l\t$unreported\n" : (), @lines;
        for my $again (1, 0) {
            my $known = $reporter->{socket};
            my $socket = connected($reporter);
            if ($socket && defined send $socket, $datagram, MSG_DONTWAIT | MSG_NOSIGNAL) {
                $reporter->{sent} += @lines;
                $reporter->{unreported} -= $unreported;
                $reporter->{due} = $now + BATCH_NS;
                $reporter->{why} = undef;
                return;
            }
            $reporter->{why} = "$reporter->{path}: $!";
            last if $!{EAGAIN};
            # A restarted agent has a new socket at the same path, so connect and send once more.
            @$reporter{qw(socket identity)} = ();
            $reporter->{retry_at} = $reporter->{due} = $now + RETRY_NS;
            last unless $again && $known;
            $reporter->{retry_at} = 0;
        }
    }
    $reporter->{dropped} += @lines;
    $reporter->{unreported} += @lines;
}

sub connected {
    my ($reporter) = @_;
    my $identity = sub { join ':', (stat $_[0])[0, 1] };
    # A program that closes all descriptors may have reused the number of this one for another file.
    return $reporter->{socket} if $reporter->{socket} && $identity->($reporter->{socket}) eq $reporter->{identity};
    socket my $socket, AF_UNIX, SOCK_DGRAM, 0 or return;
    connect $socket, pack_sockaddr_un($reporter->{path}) or return;
    @$reporter{qw(socket identity)} = ($socket, $identity->($socket));
    return $socket;
}

END {
    local $?;
    deliver($_, now()) for grep { $_->{pid} == $$ && @{ $_->{lines} } } values %reporters;
}

package Steadyhand::Request;

sub new {
    my ($class, $reporter, $env, $route, $version, $tail, $delay) = @_;
    return bless {
        reporter => $reporter, env => $env, route => $route, version => $version, tail => $tail, delay => $delay, pid => $$,
        status => 0, begin => Steadyhand::now(), cpu => Steadyhand::cpu(),
    }, $class;
}

sub whole {
    my ($self, $response) = @_;
    $self->{status} = $response->[0];
    my $body = $response->[2];
    # A server may send files with sendfile, so a body with a descriptor must not be wrapped.
    if (ref $body eq 'ARRAY' || ref $body eq 'GLOB' || !eval { $body->can('getline') } || eval { defined fileno $body }) {
        $self->end;
        return $response;
    }
    return [@$response[0, 1], bless { request => $self, body => $body }, 'Steadyhand::Body'];
}

sub delayed {
    my ($self, $response) = @_;
    return sub {
        my ($respond) = @_;
        my $done = eval {
            $response->(sub {
                my ($answer) = @_;
                return $respond->($self->whole($answer)) if @$answer > 2;
                $self->{status} = $answer->[0];
                return bless { request => $self, body => $respond->($answer) }, 'Steadyhand::Writer';
            });
            1;
        };
        return if $done;
        my $error = $@;
        $self->end(0);
        die $error;
    };
}

sub end {
    my ($self, $status) = @_;
    my ($cpu, $now, $reporter) = (Steadyhand::cpu() - $self->{cpu}, Steadyhand::now(), $self->{reporter});
    return if $self->{over}++ || $self->{pid} != $$ || $cpu < 0;
    my $tail = $self->{tail};
    if (defined $self->{delay}) {
        my $delay = Steadyhand::run_delay();
        $tail .= "\tdelay=" . ($delay - $self->{delay}) if defined $delay;
    }
    $status = $self->{status} unless defined $status;
    $status = 0 unless $status =~ /\A[0-9]{1,3}\z/;
    my $route = Steadyhand::route_of($reporter, $self->{env}, $self->{route});
    my @fields = ('r', $now, ++$reporter->{number}, $self->{version}, $route, $status, $cpu, $now - $self->{begin}, $tail);
    Steadyhand::report($reporter, $now, join("\t", @fields) . "\n");
}

# A response body. The request ends when the server closes it.
package Steadyhand::Body;

sub getline { $_[0]{body}->getline }
sub close { my ($self) = @_; my $closed = eval { $self->{body}->close }; $self->{request}->end; $closed }
sub DESTROY { local ($@, $!); $_[0]{request}->end }

# The writer of a streamed response. The request ends when the application closes it.
package Steadyhand::Writer;

sub write { my $self = shift; $self->{body}->write(@_) }
sub close { my ($self) = @_; $self->{body}->close; $self->{request}->end }
sub DESTROY { local ($@, $!); $_[0]{request}->end }

1;
