/*
 * Preloaded into a program (LD_PRELOAD), this waits SYNC_DELAY_US microseconds in each fsync and
 * fdatasync of the C library, as a slower disk would. Programs that call the kernel themselves, such
 * as SQLite in Go, are not delayed.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec delay;

__attribute__((constructor)) static void start(void) {
  const char *text = getenv("SYNC_DELAY_US");
  long us = text ? atol(text) : 0;
  delay.tv_sec = us / 1000000;
  delay.tv_nsec = us % 1000000 * 1000;
}

static int delayed(long call, int file) {
  nanosleep(&delay, NULL);
  return (int)syscall(call, file);
}

int fsync(int file) { return delayed(SYS_fsync, file); }

int fdatasync(int file) { return delayed(SYS_fdatasync, file); }
