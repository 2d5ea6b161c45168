/** A product in native code, as advisories about it are found. */
export interface NativeProduct {
  /** `vendor:product` of its CPE names, those of the past too; none where its files do not tell its whole version. */
  readonly cpe: readonly string[]
  /** How its version is written in the tables, where that differs. */
  readonly version?: (text: string) => string
  /** Other names of it, in conda, vcpkg and OSS-Fuzz. */
  readonly also?: readonly string[]
}

const product = (cpe: string, more: Omit<NativeProduct, 'cpe'> = {}): NativeProduct => ({
  cpe: cpe === '' ? [] : cpe.split(' '),
  ...more,
})

/** `1.8.0_392` and `8u392`, `1.8.0update_392`, `8update392` are one release. */
const javaVersion = (text: string): string =>
  text.replace(/^1\.(\d)(?:\.0)?(?=$|\D)/, '$1').replace(/^(\d+)(?:_|u|-?update_?)(\d+)/, '$1.0.$2')

/**
 * The products that readers of native code name, by their names in package URLs of the type `generic`, with what the
 * NVD calls them. Source of the pairs: the NVD's CPE dictionary.
 */
export const NATIVE_PRODUCTS: Readonly<Record<string, NativeProduct>> = {
  'bash': product('gnu:bash'),
  'bind': product('isc:bind', { also: ['bind9'] }),
  'brotli': product('google:brotli'),
  'busybox': product('busybox:busybox'),
  'bzip2': product('bzip:bzip2'),
  'c-ares': product('c-ares:c-ares c-ares_project:c-ares daniel_stenberg:c-ares'),
  'chromium': product('google:chrome', { also: ['chrome'] }),
  'cups': product('openprinting:cups apple:cups'),
  'curl': product('haxx:curl haxx:libcurl', { also: ['libcurl'] }),
  'dovecot': product('dovecot:dovecot'),
  'dropbear': product('dropbear_ssh_project:dropbear_ssh matt_johnston:dropbear_ssh_server'),
  'electron': product('electronjs:electron'),
  'exim': product('exim:exim'),
  'expat': product('libexpat_project:libexpat libexpat:libexpat libexpat:expat', { also: ['libexpat'] }),
  'ffmpeg': product('ffmpeg:ffmpeg'),
  'freetype': product('freetype:freetype freetype:freetype2', { also: ['freetype2', 'libfreetype'] }),
  'giflib': product('giflib_project:giflib'),
  'glibc': product('gnu:glibc'),
  'gnutls': product('gnu:gnutls'),
  'haproxy': product('haproxy:haproxy'),
  'httpd': product('apache:http_server'),
  'icu': product(
    'icu-project:international_components_for_unicode unicode:international_components_for_unicode unicode:unicode',
  ),
  'krb5': product('mit:kerberos_5 mit:kerberos', { version: text => text.replace(/^5-/, '') }),
  'lcms2': product('littlecms:little_cms littlecms:little_cms_color_engine', { also: ['lcms'] }),
  'libarchive': product('libarchive:libarchive'),
  'libgcrypt': product('gnupg:libgcrypt gnu:libgcrypt'),
  'libgit2': product('libgit2:libgit2 libgit2_project:libgit2'),
  'libjpeg-turbo': product('libjpeg-turbo:libjpeg-turbo d.r.commander:libjpeg-turbo'),
  'libpcap': product('tcpdump:libpcap'),
  'libpng': product('libpng:libpng greg_roelofs:libpng'),
  'libressl': product('openbsd:libressl'),
  'libssh': product('libssh:libssh'),
  'libssh2': product('libssh2:libssh2'),
  'libtiff': product('libtiff:libtiff'),
  'libuv': product('libuv:libuv libuv_project:libuv'),
  'libvpx': product('webmproject:libvpx'),
  'libwebp': product('webmproject:libwebp', { also: ['libwebp-base'] }),
  'libxml2': product('xmlsoft:libxml2'),
  'libxslt': product('xmlsoft:libxslt'),
  'lighttpd': product('lighttpd:lighttpd'),
  'lua': product('lua:lua'),
  'lz4': product('lz4_project:lz4 yann_collet:lz4', { also: ['lz4-c'] }),
  'mariadb': product('mariadb:mariadb'),
  'mbedtls': product('arm:mbed_tls trustedfirmware:mbed_tls polarssl:polarssl'),
  'memcached': product('memcached:memcached memcachedb:memcached'),
  'mysql': product('oracle:mysql oracle:mysql_server mysql:mysql'),
  'nettle': product('nettle_project:nettle gnu:nettle'),
  'nghttp2': product('nghttp2:nghttp2', { also: ['libnghttp2'] }),
  'nginx': product('f5:nginx f5:nginx_open_source nginx:nginx igor_sysoev:nginx'),
  'node': product('nodejs:node.js nodejs:nodejs joyent:node.js', { also: ['nodejs', 'node.js'] }),
  'nss': product('mozilla:nss mozilla:network_security_services'),
  'openjdk': product('oracle:openjdk', { version: javaVersion }),
  'openresty': product('openresty:openresty'),
  // the first portable release of a version is that version
  'openssh': product('openbsd:openssh', { version: text => text.replace(/p1$/, '') }),
  'openssl': product('openssl:openssl'),
  'openvpn': product('openvpn:openvpn'),
  'pcre2': product('pcre:pcre2'),
  'perl': product('perl:perl'),
  'php': product('php:php'),
  'postfix': product('postfix:postfix wietse_venema:postfix'),
  'postgresql': product('postgresql:postgresql', { also: ['libpq'] }),
  'proftpd': product('proftpd:proftpd'),
  'protobuf': product('google:protobuf google:protobuf-cpp', { also: ['libprotobuf'] }),
  'python': product('python:python python_software_foundation:python', { also: ['cpython'] }),
  'qt': product('qt:qt digia:qt', { also: ['qt-main', 'qt6-main'] }),
  'redis': product('redis:redis redislabs:redis pivotal_software:redis'),
  'ruby': product('ruby-lang:ruby'),
  'samba': product('samba:samba'),
  'snappy': product('google:snappy'),
  'sqlite': product('sqlite:sqlite', { also: ['sqlite3', 'libsqlite'] }),
  'squid': product('squid-cache:squid squid:squid'),
  'tor': product('torproject:tor tor:tor'),
  'unbound': product('nlnetlabs:unbound'),
  'valkey': product('linuxfoundation:valkey lfprojects:valkey valkey-io:valkey'),
  // a program tells `9.0` and not which of its thousands of patches it has
  'vim': product(''),
  'vsftpd': product('vsftpd_project:vsftpd beasts:vsftpd'),
  'wolfssl': product('wolfssl:wolfssl yassl:cyassl'),
  'xz': product('tukaani:xz tukaani:xz_utils', { also: ['liblzma', 'xz-utils'] }),
  'zlib': product('zlib:zlib gnu:zlib', { also: ['libzlib'] }),
  'zstd': product('facebook:zstandard', { also: ['zstandard'] }),
}

const ALSO = new Map(Object.entries(NATIVE_PRODUCTS).flatMap(([name, { also = [] }]) => also.map(one => [one, name])))
const BY_CPE = new Map(Object.entries(NATIVE_PRODUCTS).flatMap(([name, { cpe }]) => cpe.map(pair => [pair, name])))

/** The name of a product in the tables; undefined where no advisories are kept about it. */
export function nativeProduct(written: string): string | undefined {
  const name = written.toLowerCase()
  const own = Object.hasOwn(NATIVE_PRODUCTS, name) ? name : ALSO.get(name)
  return own === undefined || NATIVE_PRODUCTS[own]?.cpe.length === 0 ? undefined : own
}

/** The product that a CPE name is about. @param pair  `vendor:product` */
export const productOfCpe = (pair: string): string | undefined => BY_CPE.get(pair)

/** A version of a product as the tables have it. */
export const nativeVersion = (name: string, text: string): string => NATIVE_PRODUCTS[name]?.version?.(text) ?? text
