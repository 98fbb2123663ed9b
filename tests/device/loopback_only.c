// Preloaded into the stand-in's adbd, which binds every address and has no option for it:
// wildcard TCP listeners become loopback-only, vsock listeners are refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
int bind(int fd, const struct sockaddr *a, socklen_t n) {
  static int (*real)(int, const struct sockaddr *, socklen_t);
  if (!real) real = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
  if (a && a->sa_family == AF_INET6 && n >= sizeof(struct sockaddr_in6)) {
    struct sockaddr_in6 b; memcpy(&b, a, sizeof b);
    if (!memcmp(&b.sin6_addr, &in6addr_any, 16)) {
      static const unsigned char lo[16] = {0,0,0,0,0,0,0,0,0,0,0xff,0xff,127,0,0,1};
      memcpy(&b.sin6_addr, lo, 16);
      return real(fd, (struct sockaddr *)&b, sizeof b);
    }
  } else if (a && a->sa_family == AF_INET && n >= sizeof(struct sockaddr_in)) {
    struct sockaddr_in b; memcpy(&b, a, sizeof b);
    if (b.sin_addr.s_addr == INADDR_ANY) { b.sin_addr.s_addr = htonl(INADDR_LOOPBACK); return real(fd, (struct sockaddr *)&b, sizeof b); }
  } else if (a && a->sa_family == AF_VSOCK) { errno = EPERM; return -1; }
  return real(fd, a, n);
}
