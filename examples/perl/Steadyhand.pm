package Steadyhand;

# Middleware for PSGI that tells steady's agent what each request costs (docs/middleware.md). Debian's perl-base is enough.
#
#     use Steadyhand;
#     $app = Steadyhand->wrap($app, service => 'shop', version => 'v2');
#     $app = Steadyhand->split($old, $new, service => 'shop', versions => ['v1', 'v2'], share => 0.5);
#     $app = Steadyhand->switchback($old, $new, service => 'shop', versions => ['v1', 'v2'], seconds => 2);
#
# Also: assigned => 'canary', route => sub { my $env = shift; ... }, rulers => 0, socket => '/path'.
# For servers whose processes or threads serve one request at a time.

use strict;
use warnings;
use Socket qw(AF_UNIX SOCK_DGRAM MSG_DONTWAIT MSG_NOSIGNAL pack_sockaddr_un);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_THREAD_CPUTIME_ID);

use constant { TOGETHER => 32, GATHER => 50_000_000, LATER => 1_000_000_000, LONGEST => 500, MOST_ROUTES => 500 };
# Rulers wanted a second, and the share of a CPU that they may take.
# Of the requests that have one, the share whose waiting for a CPU is read too.
use constant { WANTED => 25, BUDGET => 0.005, AHEAD => 500_000, WATCHED => 0.25 };

my %speakers;

sub now { int(1e9 * clock_gettime(CLOCK_MONOTONIC)) }
sub cpu { int(1e9 * clock_gettime(CLOCK_THREAD_CPUTIME_ID)) }

sub wrap {
    my ($class, $app, %option) = @_;
    my @choice = ($app, field($option{version} // die "wrap needs a version\n"), $option{assigned} // 'none');
    die "assigned is 'none' or 'canary'\n" unless $choice[2] =~ /\A(?:none|canary)\z/;
    return middleware(sub { @choice }, %option);
}

sub split {
    my ($class, $old, $new, %option) = @_;
    my ($first, $second) = map { field($_) } @{ $option{versions} };
    my $share = $option{share} // 0.5;
    return middleware(sub { coin() < $share ? ($new, $second, 'random') : ($old, $first, 'random') }, %option);
}

sub switchback {
    my ($class, $old, $new, %option) = @_;
    require Digest::SHA;
    my @versions = @{ $option{versions} };
    my ($first, $second) = map { field($_) } @versions;
    my $seconds = $option{seconds} // 2;
    die "seconds is a whole number from 1 on\n" unless $seconds =~ /\A[1-9][0-9]*\z/;
    my $host = read_line('/proc/sys/kernel/random/boot_id');
    my ($known, @choice) = (-1);
    return middleware(sub {
        my $slot = int(clock_gettime(CLOCK_MONOTONIC) / $seconds);
        if ($slot != $known) {
            my @words = map { octets($_) } $host, $option{service}, @versions, $seconds, int($slot / 2);
            my $coin = 1 & ord Digest::SHA::sha256(join '', map { length($_) . ":$_" } @words);
            my $said = "slot\tslot=$seconds:" . $slot * $seconds;
            @choice = ($slot % 2) ^ $coin ? ($new, $second, $said) : ($old, $first, $said);
            $known = $slot;
        }
        @choice;
    }, %option);
}

# What a process has said of a service: to see whether the agent hears it.
sub status {
    my ($class, $service) = @_;
    return map { +{ %$_{qw(service pid number sent dropped why)}, rulers => $_->{ran} } }
        grep { !defined $service || $_->{service} eq $service } values %speakers;
}

sub middleware {
    my ($choose, %option) = @_;
    my $path = $option{socket} // $ENV{STEADY_SOCKET}
        // ($ENV{XDG_RUNTIME_DIR} ? "$ENV{XDG_RUNTIME_DIR}/steady/agent.sock" : "/tmp/steady-$>/agent.sock");
    my $service = $option{service} // die "a service needs a name\n";
    my $speaker = $speakers{"$service\0$path"} //= { service => $service, path => $path, pid => 0 };
    my ($route, $rulers) = ($option{route}, $option{rulers} // 1);
    return sub {
        my ($env) = @_;
        begin($speaker) if $speaker->{pid} != $$;
        my ($app, $version, $tail) = $choose->();
        my ($said, $delay) = $rulers ? ruler($speaker) : ('');
        my $request = Steadyhand::Request->new($speaker, $env, $route, $version, $tail . $said, $delay);
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
    my ($speaker) = @_;
    # A forked child's socket, coins and lines are its parent's.
    @$speaker{qw(pid began number sent dropped unsaid ran spent due deaf)} = ($$, now(), (0) x 8);
    @$speaker{qw(socket identity why)} = ();
    @$speaker{qw(lines routes chance looked seen)} = ([], {}, 1, $speaker->{began}, 0);
    $speaker->{head} = "steady/1\t" . field($speaker->{service}) . "\t$$\t$speaker->{began}\n";
}

# 30 short system calls and a byte through a pipe, as rulers of the library do. Perl cannot call a library in C without something
# compiled between, and this kind is as telling as any.
sub ruler {
    my ($speaker) = @_;
    return '' unless coin() < $speaker->{chance};
    my ($begin, $now) = (cpu(), now());
    if ($now - $speaker->{looked} > 250_000_000) {
        my $rate = ($speaker->{number} - $speaker->{seen}) / ($now - $speaker->{looked}) * 1e9;
        $speaker->{chance} = $rate > WANTED ? WANTED / $rate : 1;
        @$speaker{qw(looked seen)} = ($now, $speaker->{number});
    }
    return '' if $speaker->{spent} > AHEAD + BUDGET * ($now - $speaker->{began});
    my $said = '';
    if (pipe(my $from, my $to)) {
        my ($byte, $start) = ('.', cpu());
        # The number is asked of the kernel each time.
        my $parent;
        $parent = getppid() for 1 .. 30;
        my $passed = syswrite($to, $byte) && sysread($from, $byte, 1);
        my $took = cpu() - $start;
        $said = "\truler=syscall:$took" if $passed && $took > 0;
    }
    # To be read again at the end.
    my $delay = $said && coin() < WATCHED ? run_delay() : undef;
    $speaker->{ran}++ if $said;
    $speaker->{spent} += (cpu() - $begin) * (defined $delay ? 1.5 : 1);
    return ($said, $delay);
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

# A number from 0 to 1, of the kernel's and in no child the parent's.
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

my %escapes = ("\\" => '\\\\', "\t" => '\\t', "\n" => '\\n', "\r" => '\\r');
sub field {
    my $said = octets($_[0]);
    $said =~ s/([\\\t\n\r])/$escapes{$1}/g;
    return $said if length $said <= LONGEST;
    $said = substr $said, 0, LONGEST;
    # Neither a letter nor an escape is cut in half.
    1 while $said =~ s/[\x80-\xbf]\z//;
    $said =~ s/[\xc0-\xff]\z//;
    $said =~ s/(?<!\\)((?:\\\\)*)\\\z/$1/;
    return $said;
}

sub route_of {
    my ($speaker, $env, $given) = @_;
    my $route = $given ? eval { $given->($env) } // '(no route)' : $env->{'steadyhand.route'};
    if (!defined $route) {
        my $number = qr/[0-9]+|(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*/i;
        $route = join '/', map { /\A$number\z/ ? '<n>' : $_ } CORE::split m{/}, ($env->{PATH_INFO} // ''), -1;
    }
    my $routes = $speaker->{routes};
    return $routes->{$route} //= keys %$routes < MOST_ROUTES ? field($route) : return '(other)';
}

sub say_it {
    my ($speaker, $now, $line) = @_;
    push @{ $speaker->{lines} }, $line;
    deliver($speaker, $now) if $now >= $speaker->{due} || @{ $speaker->{lines} } >= TOGETHER;
}

sub deliver {
    my ($speaker, $now) = @_;
    my @lines = splice @{ $speaker->{lines} };
    if ($now >= $speaker->{deaf}) {
        my $unsaid = $speaker->{unsaid};
        my $datagram = join '', $speaker->{head}, $unsaid ? "l\t$unsaid\n" : (), @lines;
        for my $again (1, 0) {
            my $known = $speaker->{socket};
            my $socket = connected($speaker);
            if ($socket && defined send $socket, $datagram, MSG_DONTWAIT | MSG_NOSIGNAL) {
                $speaker->{sent} += @lines;
                $speaker->{unsaid} -= $unsaid;
                $speaker->{due} = $now + GATHER;
                $speaker->{why} = undef;
                return;
            }
            $speaker->{why} = "$speaker->{path}: $!";
            last if $!{EAGAIN};
            # An agent that was started anew listens under the same name.
            @$speaker{qw(socket identity)} = ();
            $speaker->{deaf} = $speaker->{due} = $now + LATER;
            last unless $again && $known;
            $speaker->{deaf} = 0;
        }
    }
    $speaker->{dropped} += @lines;
    $speaker->{unsaid} += @lines;
}

sub connected {
    my ($speaker) = @_;
    my $identity = sub { join ':', (stat $_[0])[0, 1] };
    # A program that closes all descriptors may have opened something else in this one's place.
    return $speaker->{socket} if $speaker->{socket} && $identity->($speaker->{socket}) eq $speaker->{identity};
    socket my $socket, AF_UNIX, SOCK_DGRAM, 0 or return;
    connect $socket, pack_sockaddr_un($speaker->{path}) or return;
    @$speaker{qw(socket identity)} = ($socket, $identity->($socket));
    return $socket;
}

END {
    local $?;
    deliver($_, now()) for grep { $_->{pid} == $$ && @{ $_->{lines} } } values %speakers;
}

package Steadyhand::Request;

sub new {
    my ($class, $speaker, $env, $route, $version, $tail, $delay) = @_;
    return bless {
        speaker => $speaker, env => $env, route => $route, version => $version, tail => $tail, delay => $delay, pid => $$,
        status => 0, begin => Steadyhand::now(), cpu => Steadyhand::cpu(),
    }, $class;
}

sub whole {
    my ($self, $response) = @_;
    $self->{status} = $response->[0];
    my $body = $response->[2];
    # Servers send real files in their own way, which they do only if they see that it is one.
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
    my ($cpu, $now, $speaker) = (Steadyhand::cpu() - $self->{cpu}, Steadyhand::now(), $self->{speaker});
    return if $self->{over}++ || $self->{pid} != $$ || $cpu < 0;
    my $tail = $self->{tail};
    if (defined $self->{delay}) {
        my $delay = Steadyhand::run_delay();
        $tail .= "\tdelay=" . ($delay - $self->{delay}) if defined $delay;
    }
    $status = $self->{status} unless defined $status;
    $status = 0 unless $status =~ /\A[0-9]{1,3}\z/;
    my $route = Steadyhand::route_of($speaker, $self->{env}, $self->{route});
    my @fields = ('r', $now, ++$speaker->{number}, $self->{version}, $route, $status, $cpu, $now - $self->{begin}, $tail);
    Steadyhand::say_it($speaker, $now, join("\t", @fields) . "\n");
}

# A body that the server reads line by line, until it closes it.
package Steadyhand::Body;

sub getline { $_[0]{body}->getline }
sub close { my ($self) = @_; my $closed = eval { $self->{body}->close }; $self->{request}->end; $closed }
sub DESTROY { local ($@, $!); $_[0]{request}->end }

# What the application writes to, until it closes it.
package Steadyhand::Writer;

sub write { my $self = shift; $self->{body}->write(@_) }
sub close { my ($self) = @_; $self->{body}->close; $self->{request}->end }
sub DESTROY { local ($@, $!); $_[0]{request}->end }

1;
