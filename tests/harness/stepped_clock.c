/* Preloaded into a process: its wall clock is off by the seconds in a file, which may change at any time. Monotonic
   clocks and sleeps stay true, as they do when an administrator or NTP steps a machine's clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_offset(void) {
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("STEPPED_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) offset = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock_gettime) open_offset();
    int result = real_clock_gettime(clock, now);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec moment;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &moment);
    now->tv_sec = moment.tv_sec;
    now->tv_usec = moment.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now) {
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    if (now) *now = moment.tv_sec;
    return moment.tv_sec;
}
