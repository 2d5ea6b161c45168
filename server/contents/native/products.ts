import type { OpenFile } from '../reader.ts'
import { sqliteVersion } from './sqlite-dates.ts'

/** How a product tells its version in a compiled file. */
export interface Product {
  /** As package URLs of the type `generic` name it. */
  readonly name: string
  /** What stands directly before the version; `\0` where nothing printable does. */
  readonly before: string
  /** Matches from the version on; its first group is the version. */
  readonly after: RegExp
  /** Must match what stands before the version in the same string. */
  readonly along?: RegExp
  /** Must stand anywhere in the file: programs that only use the product do not have it. */
  readonly beside?: string
  /** The name of the file, or what the library calls itself, must match; a group in it must begin the version. */
  readonly file?: RegExp
  /** The newest of several versions is its own: it also names those in which something came. */
  readonly isNewest?: true
  /** Of several versions none is known to be its own. */
  readonly isOnly?: true
  /** Tells which of several it is; undefined where that cannot be told. */
  readonly settle?: (file: OpenFile, versions: readonly string[]) => Promise<string | undefined>
}

const V = /(\d+(?:\.\d+)+)/y
const ALONE = /(\d+\.\d+\.\d+)\0/y

/** A product that stands in the file under its name. */
const named = (name: string, before: string, after = V, beside?: string): Product => ({
  name,
  before,
  after,
  ...(beside === undefined ? {} : { beside }),
})

/** A library whose string is the version and nothing else: only its name tells whose version it is. */
const bare = (name: string, file: RegExp, after = ALONE): Product => ({
  name,
  before: '\0',
  after,
  file,
  isOnly: true,
})

/**
 * Tried on the programs and libraries of Debian 12, where most of them are, and on those in wheels (MySQL, Chromium);
 * libressl, openresty, valkey and Electron were not seen in a real file.
 */
export const PRODUCTS: readonly Product[] = [
  named(
    'openssl',
    'OpenSSL ',
    /(\d+\.\d+\.\d+[a-z]*(?:-(?:alpha|beta|pre)\d+)?)(?:[-+][\w.]+)* +\d{1,2} [A-Z][a-z]{2} \d{4}/y,
    'OPENSSLDIR: ',
  ),
  named('libressl', 'LibreSSL ', ALONE, 'OPENSSLDIR: '),
  named('zlib', ' deflate ', /(\d+(?:\.\d+)+) Copyright/y),
  named('zlib', ' inflate ', /(\d+(?:\.\d+)+) Copyright/y),
  named('curl', 'CLIENT libcurl '),
  named('expat', 'expat_'),
  named('libpng', 'libpng version '),
  named('libjpeg-turbo', 'libjpeg-turbo version ', /(\d+(?:\.\d+)+) \(build/y),
  named('libtiff', 'LIBTIFF, Version '),
  { ...named('bzip2', '\0', /(\d+\.\d+\.\d+), \d{1,2}-[A-Z][a-z]{2}-\d{4}\0/y), beside: 'bzip2/libbzip2' },
  named('busybox', 'BusyBox v'),
  named('dropbear', 'SSH-2.0-dropbear_'),
  named('openssh', 'OpenSSH_', /(\d+\.\d+(?:\.\d+)?p\d+)(?![\d,*])/y),
  named('libssh', 'SSH-2.0-libssh_'),
  named('libssh2', 'SSH-2.0-libssh2_'),
  named('nginx', 'nginx version: nginx/'),
  named('openresty', 'nginx version: openresty/'),
  named('httpd', 'Apache/', /(\d+\.\d+\.\d+)(?: \([^)\0]{1,40}\))?\0/y, 'ap_hook_'),
  named('lighttpd', 'lighttpd/'),
  named('memcached', 'memcached '),
  named('haproxy', 'version ', /(\d+\.\d+(?:\.\d+|-dev\d+)?)[^,\0]{0,40}, released \d{4}\/\d\d\/\d\d/y),
  { ...named('redis', '\0', ALONE, 'Redis version=%s'), isNewest: true },
  { ...named('valkey', '\0', ALONE, 'Valkey version=%s'), isNewest: true },
  named('postgresql', 'PostgreSQL ', /(\d+(?:\.\d+)+)(?: \([^)\0]{1,80}\))? on /y),
  named('mariadb', '\0', /((?:5|\d\d)\.\d+\.\d+)-MariaDB/y),
  named('node', 'node.js/v'),
  bare('python', /^(?:lib)?python(\d\.\d+)(?:\D|$)/),
  named('ruby', 'ruby ', /(\d+\.\d+\.\d+)(?:p\d+)? \(\d{4}-\d\d-\d\d/y),
  named('php', 'X-Powered-By: PHP/'),
  { ...named('perl', '/perl/', /(5\.\d+\.\d+)/y), file: /^(?:libperl\.so|perl)/ },
  named('bash', '@(#)Bash version ', /(\d+\.\d+\.\d+)\(/y),
  named('lua', '$LuaVersion: Lua '),
  named('ffmpeg', 'FFmpeg version '),
  named('ffmpeg', 'FFmpeg version n'),
  named('gnutls', 'Enabled GnuTLS '),
  named('libgcrypt', 'This is Libgcrypt '),
  named('mbedtls', 'mbed TLS '),
  named('mbedtls', 'Mbed TLS '),
  named('wolfssl', 'wolfSSL '),
  named('nss', 'Version: NSS '),
  named('krb5', 'KRB5_BRAND: krb5-'),
  named('libarchive', 'libarchive '),
  named('libgit2', 'libgit2 '),
  named('libvpx', 'WebM Project VP8 Decoder v'),
  named('libpcap', 'libpcap version '),
  named('cups', 'CUPS/'),
  named('bind', 'named version: BIND '),
  named('unbound', 'unbound '),
  named('squid', 'squid/'),
  named('postfix', 'mail_version='),
  named('dovecot', 'Dovecot v', /(\d+\.\d+(?:\.\d+)*) \(/y),
  named('proftpd', 'ProFTPD Version '),
  named('vsftpd', 'vsFTPd '),
  named('openvpn', 'OpenVPN ', /(\d+\.\d+(?:\.\d+|_\w+)*) \w+-[\w-]+/y),
  // every part of it has its version in the names of symbols
  {
    ...named('samba', 'SAMBA_', /(\d+\.\d+\.\d+)(?![\d.])/y),
    file: /^(?:smbd|nmbd|winbindd|samba|smbclient|libsamba-util\.so|libsmbclient\.so)(?:\W|$)/,
  },
  named('tor', '(tor ', /(\d+(?:\.\d+){3})(?:-\w+)?\)/y),
  { ...named('glibc', 'release version ', /(\d+\.\d+(?:\.\d+)?)/y), along: /GNU C Library \([^\0]*$/ },
  named('vim', 'VIM - Vi IMproved '),
  bare('exim', /^exim4?$/, /(4\.\d{2}(?:\.\d+)?)\0/y),
  {
    ...named('sqlite', '\0', /(3\.\d{1,2}\.\d{1,2})\0/y, 'malformed database schema (%s)'),
    isOnly: true,
    settle: sqliteVersion,
  },
  named('mysql', '/mysql-', /(\d{1,2}\.\d{1,2}\.\d{1,2})(?=[-/])/y),
  bare('mysql', /^(?:mysqld|libmysqlclient)(?:\W|$)/, /((?:[5-9]|2\d)\.\d{1,2}\.\d{1,2})(?:-\w+)*\0/y),
  {
    ...named('chromium', '\0', /(\d{2,3}\.0\.\d{4,5}\.\d{1,3})\0/y, 'chrome://gpu'),
    isOnly: true,
  },
  { ...named('electron', 'Electron/'), along: /Chrome\/[\d.]+ Electron\/$/ },
  bare('zstd', /^libzstd(?:-\w+)?\.so/),
  bare('lz4', /^liblz4(?:-\w+)?\.so/),
  bare('xz', /^liblzma(?:-\w+)?\.so/),
  bare('pcre2', /^libpcre2-(?:8|16|32|posix)(?:-\w+)?\.so/, /(\d+\.\d+) \d{4}-\d\d-\d\d/y),
  bare('c-ares', /^libcares(?:-\w+)?\.so/),
  bare('nghttp2', /^libnghttp2(?:-\w+)?\.so/),
]
