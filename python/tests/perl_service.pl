# Calls the middleware as a PSGI server does. test_perl.py chooses the scenario and checks what the agent received.
use strict;
use warnings;
use utf8;
use Steadyhand;
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID sleep time);

sub spin {
    my $end = clock_gettime(CLOCK_THREAD_CPUTIME_ID) + $_[0] / 1000;
    1 while clock_gettime(CLOCK_THREAD_CPUTIME_ID) < $end;
}

package Lines { sub getline { my $self = shift; main::spin(3); shift @$self } sub close { 1 } }
package Writer { sub write { $main::written .= $_[1] } sub close { $main::written .= '|' } }

package main;
our $written = '';

# Serves a request and returns the whole body, like a server.
sub serve {
    my ($app, %env) = @_;
    my $response = $app->({ REQUEST_METHOD => 'GET', PATH_INFO => '/item/17', %env });
    my $body = '';
    my $read = sub {
        my ($response) = @_;
        return bless {}, 'Writer' if @$response == 2;
        if (ref $response->[2] eq 'ARRAY') { $body .= join '', @{ $response->[2] }; return }
        while (defined(my $part = $response->[2]->getline)) { $body .= $part }
        $response->[2]->close;
        return;
    };
    ref $response eq 'CODE' ? $response->($read) : $read->($response);
    return $body;
}

my $plain = sub { spin(2); [200, ['Content-Type' => 'text/plain'], ['done']] };
my %option = (service => 'perl shop', version => 'v1', rulers => 0);

my %scenarios = (
    forms => sub {
        serve(Steadyhand->wrap($plain, %option));
        serve(Steadyhand->wrap(sub { [201, [], bless [qw(a b)], 'Lines'] }, %option), PATH_INFO => '/u/0b5ce3f4-6f7c-4c57-a7a8-2d5f9a4ab1c2');
        serve(Steadyhand->wrap(sub { sub { spin(2); $_[0]->([202, [], ['later']]) } }, %option));
        serve(Steadyhand->wrap(sub { sub { my $writer = $_[0]->([203, []]); spin(2); $writer->write('x'); $writer->close } }, %option));
        eval { serve(Steadyhand->wrap(sub { die "own\n" }, %option)) };
        print $@, $written, "\n";
    },
    text => sub {
        my $odd = "a\tb\nc\rd\\e\"'☃";
        serve(Steadyhand->wrap($plain, %option, version => $odd, route => sub { $odd . '/long' x 300 }));
    },
    fork => sub {
        my $app = Steadyhand->split($plain, $plain, %option, versions => ['old', 'new']);
        serve($app) for 1 .. 40;
        for (1 .. 2) {
            next if fork;
            serve($app) for 1 .. 40;
            exit;
        }
        1 while wait > 0;
    },
    slots => sub {
        my $app = Steadyhand->switchback($plain, $plain, %option, versions => ['v1', 'v2'], seconds => 1);
        # Several slots, and on a busy machine enough requests.
        my ($end, $number) = (time + 2.2, 0);
        while (time < $end || $number < 30) { serve($app); $number++; sleep 0.02 }
        print "$number\n";
    },
    rulers => sub {
        my $app = Steadyhand->wrap($plain, %option, rulers => 1);
        # On a busy machine, rulers are rarer.
        my ($end, $number, $rulers) = (time + 60, 0, 0);
        while (time < $end && $rulers < 40) {
            serve($app);
            $number++;
            $rulers = (Steadyhand->status)[0]{rulers};
            sleep 0.005;
        }
        print "$rulers $number\n";
    },
    missing => sub {
        serve(Steadyhand->wrap($plain, %option)) for 1 .. 50;
        my ($status) = Steadyhand->status('perl shop');
        print "$status->{number} $status->{dropped} $status->{sent} $status->{why}\n";
    },
    empty => sub {
        eval { Steadyhand->wrap($plain, %option, version => '') } or print $@;
        eval { Steadyhand->wrap($plain, version => 'v1') } or print $@;
        eval { Steadyhand->split($plain, $plain, %option, versions => ['v1', '']) } or print $@;
        eval { Steadyhand->switchback($plain, $plain, %option, versions => ['v1']) } or print $@;
    },
    long => sub {
        Steadyhand->wrap($plain, %option, version => 'v' x 500);
        eval { Steadyhand->wrap($plain, %option, version => 'v' x 501) } or print $@;
        eval { Steadyhand->wrap($plain, %option, service => 's' x 501) } or print $@;
        eval { Steadyhand->split($plain, $plain, %option, versions => ['v1', 'é' x 251]) } or print $@;
    },
    plack => sub {
        require Plack::Test;
        require HTTP::Request::Common;
        my $test = Plack::Test->create(Steadyhand->wrap($plain, %option));
        print $test->request(HTTP::Request::Common::GET('/item/5'))->content, "\n";
    },
);
$scenarios{ $ARGV[0] }->();
