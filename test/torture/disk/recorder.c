/*
 * Preloaded into a server (LD_PRELOAD), this writes down everything that the server does to the files below one folder,
 * and every HTTP reply that it sends, in the one order in which it happened. trace.ts reads what it writes.
 *
 * RECORDER_FOLDER  absolute path of that folder, without symbolic links
 * RECORDER_TRACE   where the records go; they are appended
 * RECORDER_FAULT   "KIND ERRNO N": after the first 200 was sent, the Nth call of that kind on a file below the folder fails with
 *                  that errno, and does nothing. KIND is w (a write) or s (a sync); W or S if the file must not be a log.
 *
 * A change is recorded before it is made, so that the last record of a process that is killed may be of something that has
 * happened only in part or not at all, but nothing happens that is not recorded. One lock is held around both; but not
 * around a sync, for which no other thread needs to wait: a sync has a record at its start and one at its end.
 *
 * No table of open files is kept: /proc says at each call what a descriptor stands for. The real calls are made by their
 * numbers, so that nothing of the C library that is replaced here needs to be looked up.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum what { CREATE = 1, WRITE, TRUNCATE, SYNC, SYNCED, NOT_SYNCED, LINK, RENAME, UNLINK, MKDIR, REPLY, UNDONE, FAULT };

/* `number` is an offset, a length, the number of a sync, or an errno. The path, relative to the folder, and the data follow. */
struct record {
  uint32_t what;
  uint32_t path_length;
  uint64_t number;
  uint64_t data_length;
};

enum { iov_max = 1024, at_position = -1, max_descriptors = 1024 };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int trace = -1;
static uint64_t syncs;

static struct {
  char kind;
  int error;
  long left;
  bool armed;
  /* Linux reports a failed sync of a file once to each descriptor of the file (errseq_t). */
  char file[PATH_MAX];
  bool told[max_descriptors];
} fault;

__attribute__((constructor)) static void start(void) {
  folder = getenv("RECORDER_FOLDER");
  const char *path = getenv("RECORDER_TRACE");
  if (folder == NULL || path == NULL) return;
  trace = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (trace < 0) abort();
  const char *wanted = getenv("RECORDER_FAULT");
  if (wanted != NULL && sscanf(wanted, "%c %d %ld", &fault.kind, &fault.error, &fault.left) != 3) abort();
}

static void write_down(enum what what, const char *path, uint64_t number, const struct iovec *data, int parts) {
  struct record record = {.what = what, .path_length = strlen(path), .number = number};
  struct iovec all[iov_max + 2] = {{&record, sizeof record}, {(void *)path, record.path_length}};
  if (parts > iov_max) abort();
  for (int part = 0; part < parts; part += 1) {
    all[2 + part] = data[part];
    record.data_length += data[part].iov_len;
  }
  ssize_t length = sizeof record + record.path_length + record.data_length;
  if (syscall(SYS_writev, trace, all, parts + 2) != length) abort();
}

/* After the call whose record is the last: says so if it has failed, and leaves errno as it is. */
static long settled(long result) {
  int error = errno;
  if (result < 0) write_down(UNDONE, "", error, NULL, 0);
  errno = error;
  return result;
}

/* The path relative to the folder, or NULL if it lies elsewhere. The index of the WAL is memory that SQLite makes again. */
static const char *below_folder(const char *path) {
  size_t length = strlen(folder);
  if (strncmp(path, folder, length) != 0) return NULL;
  if (path[length] == '\0') return "";
  const char *rest = path + length + 1;
  size_t rest_length = strlen(rest);
  bool is_index = rest_length > 4 && strcmp(rest + rest_length - 4, "-shm") == 0;
  return path[length] != '/' || is_index ? NULL : rest;
}

static const char *path_of(int descriptor, char buffer[PATH_MAX]) {
  if (trace < 0) return NULL;
  char link[64];
  int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, PATH_MAX - 1);
  errno = error;
  if (length <= 0) return NULL;
  buffer[length] = '\0';
  const char *path = below_folder(buffer);
  /* What becomes of a file that has no name any more is of no interest. */
  return path == NULL || strstr(path, " (deleted)") != NULL ? NULL : path;
}

static const char *resolve(int directory, const char *path, char buffer[PATH_MAX]) {
  if (trace < 0) return NULL;
  if (path[0] == '/') return below_folder(path);
  char base[PATH_MAX];
  if (directory == AT_FDCWD) {
    if (getcwd(base, sizeof base) == NULL) return NULL;
  } else {
    const char *above = path_of(directory, base);
    if (above == NULL) return NULL;
  }
  if (snprintf(buffer, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) abort();
  return below_folder(buffer);
}

/* To be called under the lock. @returns the errno that the call has to fail with, or 0 */
static int fault_due(char kind, const char *path) {
  size_t length = strlen(path);
  bool is_log = length > 4 && strcmp(path + length - 4, "-wal") == 0;
  bool meant = fault.kind == kind || (!is_log && fault.kind == toupper(kind));
  if (!fault.armed || !meant || --fault.left != 0) return 0;
  write_down(FAULT, path, fault.error, NULL, 0);
  return fault.error;
}

/* ---- Names ---- */

static int open_at(int directory, const char *path, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *name = (flags & (O_CREAT | O_TRUNC)) == 0 ? NULL : resolve(directory, path, buffer);
  if (name == NULL) return syscall(SYS_openat, directory, path, flags, mode);
  pthread_mutex_lock(&order);
  struct stat found;
  int error = errno;
  bool exists = fstatat(directory, path, &found, 0) == 0;
  errno = error;
  bool changes = exists ? (flags & O_TRUNC) != 0 : (flags & O_CREAT) != 0;
  if (changes) write_down(exists ? TRUNCATE : CREATE, name, 0, NULL, 0);
  int result = syscall(SYS_openat, directory, path, flags, mode);
  if (changes) settled(result);
  pthread_mutex_unlock(&order);
  return result;
}

#define MODE(flags) \
  ({ \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = ((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    mode; \
  })

int open(const char *path, int flags, ...) { return open_at(AT_FDCWD, path, flags, MODE(flags)); }
int open64(const char *path, int flags, ...) { return open_at(AT_FDCWD, path, flags | O_LARGEFILE, MODE(flags)); }
int openat(int directory, const char *path, int flags, ...) { return open_at(directory, path, flags, MODE(flags)); }
int openat64(int directory, const char *path, int flags, ...) { return open_at(directory, path, flags | O_LARGEFILE, MODE(flags)); }

static int one_name(enum what what, long call, int directory, const char *path, long argument) {
  char buffer[PATH_MAX];
  const char *name = resolve(directory, path, buffer);
  if (name == NULL) return syscall(call, directory, path, argument);
  pthread_mutex_lock(&order);
  write_down(what, name, 0, NULL, 0);
  int result = settled(syscall(call, directory, path, argument));
  pthread_mutex_unlock(&order);
  return result;
}

int mkdirat(int directory, const char *path, mode_t mode) { return one_name(MKDIR, SYS_mkdirat, directory, path, mode); }
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int unlinkat(int directory, const char *path, int flags) { return one_name(UNLINK, SYS_unlinkat, directory, path, flags); }
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int remove(const char *path) {
  int result = unlinkat(AT_FDCWD, path, 0);
  return result < 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

/* A file that comes into the folder from elsewhere, or leaves it, is a record that the reader refuses. */
static int two_names(enum what what, long call, int directory, const char *from, int to_directory, const char *to, int flags) {
  char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
  const char *name = resolve(directory, from, from_buffer);
  const char *to_name = resolve(to_directory, to, to_buffer);
  if (name == NULL && to_name == NULL) return syscall(call, directory, from, to_directory, to, flags);
  struct iovec data = {(void *)(to_name == NULL ? to : to_name), strlen(to_name == NULL ? to : to_name)};
  pthread_mutex_lock(&order);
  write_down(what, name == NULL ? from : name, 0, &data, 1);
  int result = settled(syscall(call, directory, from, to_directory, to, flags));
  pthread_mutex_unlock(&order);
  return result;
}

int link(const char *from, const char *to) { return two_names(LINK, SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int directory, const char *from, int to_directory, const char *to, int flags) {
  return two_names(LINK, SYS_linkat, directory, from, to_directory, to, flags);
}
int rename(const char *from, const char *to) { return two_names(RENAME, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int directory, const char *from, int to_directory, const char *to) {
  return two_names(RENAME, SYS_renameat2, directory, from, to_directory, to, 0);
}

/* ---- Contents ---- */

static long real_write(int descriptor, const struct iovec *data, int parts, off_t offset) {
  if (offset != at_position) return syscall(SYS_pwritev, descriptor, data, parts, offset, 0L);
  if (parts == 1) return syscall(SYS_write, descriptor, data->iov_base, data->iov_len);
  return syscall(SYS_writev, descriptor, data, parts);
}

static bool is_reply(const struct iovec *data, int parts) {
  static const char begins[] = "HTTP/1.1 ";
  return trace >= 0 && parts > 0 && data->iov_len >= sizeof begins - 1 && memcmp(data->iov_base, begins, sizeof begins - 1) == 0;
}

/* To be called under the lock, before the reply is sent. */
static void write_down_reply(const struct iovec *data, int parts) {
  static const char begins[] = "HTTP/1.1 200";
  write_down(REPLY, "", 0, data, parts);
  if (data->iov_len >= sizeof begins - 1 && memcmp(data->iov_base, begins, sizeof begins - 1) == 0) fault.armed = true;
}

/* To be called under the lock. */
static long write_file(int descriptor, const char *path, const struct iovec *data, int parts, off_t offset) {
  int error = fault_due('w', path);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int flags = fcntl(descriptor, F_GETFL);
  struct stat now;
  off_t begin = offset;
  if ((flags & O_APPEND) != 0 && fstat(descriptor, &now) == 0) begin = now.st_size;
  else if (offset == at_position) begin = lseek(descriptor, 0, SEEK_CUR);
  uint64_t number = ++syncs;
  write_down(WRITE, path, begin, data, parts);
  /* With O_SYNC a write is a sync, too. */
  if ((flags & O_SYNC) == O_SYNC) write_down(SYNC, path, number, NULL, 0);
  long result = real_write(descriptor, data, parts, offset);
  size_t wanted = 0;
  for (int part = 0; part < parts; part += 1) wanted += data[part].iov_len;
  /* Real disks fill up, too: then what was recorded is not what has happened, and the run is worth nothing. */
  if (result != (long)wanted) abort();
  if ((flags & O_SYNC) == O_SYNC) write_down(SYNCED, path, number, NULL, 0);
  return result;
}

static ssize_t write_somewhere(int descriptor, const struct iovec *data, int parts, off_t offset) {
  char buffer[PATH_MAX];
  bool reply = is_reply(data, parts);
  const char *path = reply ? NULL : path_of(descriptor, buffer);
  if (!reply && path == NULL) return real_write(descriptor, data, parts, offset);
  pthread_mutex_lock(&order);
  if (reply) write_down_reply(data, parts);
  long result = reply ? real_write(descriptor, data, parts, offset) : write_file(descriptor, path, data, parts, offset);
  pthread_mutex_unlock(&order);
  return result;
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  struct iovec data = {(void *)bytes, length};
  return write_somewhere(descriptor, &data, 1, at_position);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  struct iovec data = {(void *)bytes, length};
  return write_somewhere(descriptor, &data, 1, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) { return pwrite(descriptor, bytes, length, offset); }
ssize_t writev(int descriptor, const struct iovec *data, int parts) { return write_somewhere(descriptor, data, parts, at_position); }
ssize_t pwritev(int descriptor, const struct iovec *data, int parts, off_t offset) {
  return write_somewhere(descriptor, data, parts, offset);
}
ssize_t pwritev64(int descriptor, const struct iovec *data, int parts, off64_t offset) {
  return write_somewhere(descriptor, data, parts, offset);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
  if (!is_reply(message->msg_iov, message->msg_iovlen)) return syscall(SYS_sendmsg, descriptor, message, flags);
  pthread_mutex_lock(&order);
  write_down_reply(message->msg_iov, message->msg_iovlen);
  ssize_t result = syscall(SYS_sendmsg, descriptor, message, flags);
  pthread_mutex_unlock(&order);
  return result;
}

ssize_t send(int descriptor, const void *bytes, size_t length, int flags) {
  struct iovec data = {(void *)bytes, length};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  return sendmsg(descriptor, &message, flags);
}

int ftruncate(int descriptor, off_t length) {
  char buffer[PATH_MAX];
  const char *path = path_of(descriptor, buffer);
  if (path == NULL) return syscall(SYS_ftruncate, descriptor, length);
  pthread_mutex_lock(&order);
  write_down(TRUNCATE, path, length, NULL, 0);
  int result = settled(syscall(SYS_ftruncate, descriptor, length));
  pthread_mutex_unlock(&order);
  return result;
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

/* ---- Syncs ---- */

/* To be called under the lock. @returns the errno that the sync has to fail with, or 0 */
static int sync_fault_due(int descriptor, const char *path) {
  if (descriptor >= max_descriptors) abort();
  bool had_failed = strcmp(fault.file, path) == 0;
  int error = had_failed && !fault.told[descriptor] ? fault.error : fault_due('s', path);
  if (error == 0) return 0;
  strcpy(fault.file, path);
  fault.told[descriptor] = true;
  return error;
}

static int sync_somewhere(int descriptor, long call) {
  char buffer[PATH_MAX];
  const char *path = path_of(descriptor, buffer);
  if (path == NULL) return syscall(call, descriptor);
  struct stat of;
  bool is_file = fstat(descriptor, &of) == 0 && S_ISREG(of.st_mode);

  pthread_mutex_lock(&order);
  uint64_t number = ++syncs;
  write_down(SYNC, path, number, NULL, 0);
  int error = is_file ? sync_fault_due(descriptor, path) : 0;
  pthread_mutex_unlock(&order);

  if (error == 0 && syscall(call, descriptor) != 0) error = errno;

  pthread_mutex_lock(&order);
  write_down(error == 0 ? SYNCED : NOT_SYNCED, path, number, NULL, 0);
  pthread_mutex_unlock(&order);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int fsync(int descriptor) { return sync_somewhere(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_somewhere(descriptor, SYS_fdatasync); }
