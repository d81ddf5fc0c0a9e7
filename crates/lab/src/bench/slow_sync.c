/* Loaded before libc, makes each fdatasync and fsync take SLOW_SYNC_US microseconds longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_longer(void)
{
    const char *text = getenv("SLOW_SYNC_US");
    long us = text ? atol(text) : 0;
    struct timespec delay = { us / 1000000, us % 1000000 * 1000 };

    nanosleep(&delay, NULL);
}

static int call(const char *name, int file)
{
    int (*next)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);

    wait_longer();
    return next(file);
}

int fdatasync(int file)
{
    return call("fdatasync", file);
}

int fsync(int file)
{
    return call("fsync", file);
}
