import { expect, test } from 'vitest'
import { clientOf, parseAccessLine } from './access-log.ts'

const DEB = '/repos/pool/jammy/main/h/hello/hello_1.0_amd64.deb'
const line = (
  asked: string,
  status: number,
  rest = '"-" "Debian APT-HTTP/1.3 (2.6.1)"',
  bytes: number | string = 12,
): string => `192.0.2.7 - - [23/Nov/2026:15:04:05 +0000] "${asked}" ${status} ${bytes} ${rest}`

test('a line is read to its fields, the hour in UTC', () => {
  expect(parseAccessLine(line(`GET ${DEB} HTTP/1.1`, 200))).toEqual({
    hour: '2026-11-23T15',
    rest: '04:05',
    address: '192.0.2.7',
    kind: 'download',
    path: DEB,
    status: 200,
    bytes: 12,
    agent: 'Debian APT-HTTP/1.3 (2.6.1)',
  })
})

test.each<[string, string | undefined]>([
  [line(`GET ${DEB} HTTP/1.1`, 200), 'download'],
  [line(`GET ${DEB}?x=1 HTTP/2.0`, 200), 'download'],
  [line(`GET http://repo.example${DEB} HTTP/1.1`, 200), 'download'],
  [line('GET /apk/alpine3.20/main/x86_64/a-1-r0.apk HTTP/1.0', 200), 'download'],
  [line('GET /repos/almalinux9/x86_64/Packages/a-1-1.x86_64.rpm HTTP/1.1', 200), 'download'],
  // a part counts where it begins at the first byte, and where the log does not tell
  [line(`GET ${DEB} HTTP/1.1`, 206), 'download'],
  [line(`GET ${DEB} HTTP/1.1`, 206, '"-" "a" "bytes=0-99"'), 'download'],
  [line(`GET ${DEB} HTTP/1.1`, 206, '"-" "a" "bytes=0-" my-id'), 'download'],
  [line(`GET ${DEB} HTTP/1.1`, 206, '"-" "a" "bytes=100-"'), 'range'],
  [line(`GET ${DEB} HTTP/1.1`, 206, '"-" "a" "bytes=-100"'), 'range'],
  [line(`GET ${DEB} HTTP/1.1`, 200, '"-" "a" "-" id'), 'download'],
  [line(`HEAD ${DEB} HTTP/1.1`, 200), 'head'],
  [line(`GET ${DEB} HTTP/1.1`, 304), 'not_modified'],
  [line('GET /repos/dists/jammy/InRelease HTTP/1.1', 200), 'index'],
  [line('GET /repos/dists/jammy/InRelease HTTP/1.1', 304), 'not_modified'],
  [line(`GET ${DEB} HTTP/1.1`, 404), 'missing'],
  [line('GET /repos/dists/none/InRelease HTTP/1.1', 404), 'refused'],
  [line(`GET ${DEB} HTTP/1.1`, 401), 'refused'],
  [line(`GET ${DEB} HTTP/1.1`, 416), 'refused'],
  [line(`GET ${DEB} HTTP/1.1`, 499), 'aborted'],
  [line(`POST ${DEB} HTTP/1.1`, 200), undefined],
  [line(`GET ${DEB} HTTP/1.1`, 301), undefined],
  // what others send to a web server
  [line('-', 400), undefined],
  [line('\\x16\\x03\\x01', 400), undefined],
  [line('', 408), undefined],
  ['', undefined],
  ['192.0.2.7', undefined],
  ['192.0.2.7 - - [23/Nov/2026:15:04:05 +0000]', undefined],
  ['192.0.2.7 - - [23/Nov/2026:15:04:05 +0000] "GET', undefined],
  [`192.0.2.7 - - [99/Foo/2026:15:04:05 +0000] "GET ${DEB} HTTP/1.1" 200 1 "-" "a"`, undefined],
  [`192.0.2.7 - - [31/Feb/20x6:15:04:05 +0000] "GET ${DEB} HTTP/1.1" 200 1 "-" "a"`, undefined],
  ['[[[[[""""', undefined],
  [`x ["${'"'.repeat(100)}`, undefined],
  ['\0\0\0\0', undefined],
])('%s is %s', (text, kind) => {
  expect(parseAccessLine(text)?.kind).toBe(kind)
})

test.each([
  ['23/Nov/2026:01:04:05 +0200', '2026-11-22T23'],
  ['31/Dec/2026:23:30:00 -0130', '2027-01-01T00'],
])('the zone of %s is brought to UTC', (stamp, hour) => {
  expect(parseAccessLine(`::1 - a b [${stamp}] "GET ${DEB} HTTP/1.1" 200 7 "-" "a"`)).toMatchObject({
    hour,
    address: '::1',
  })
})

test.each(['-', 'x', '-5', '1e999', '99999999999999999999'])('a size of %s is none', bytes => {
  expect(parseAccessLine(line(`GET ${DEB} HTTP/1.1`, 200, '"-" "a"', bytes))?.bytes).toBe(0)
})

test.each([
  ['Debian APT-HTTP/1.3 (2.6.1)', 'apt'],
  ['libdnf (Fedora Linux 40; server; Linux.x86_64)', 'dnf'],
  ['dnf/4.14', 'dnf'],
  ['yum/3.4.3', 'dnf'],
  ['ZYpp 17.31.2 (curl 8.0.1) openSUSE-Leap-15.5-x86_64', 'zypper'],
  ['apk-tools/2.14.4', 'apk'],
  ['curl/8.5.0', 'curl'],
  ['Wget/1.21.3', 'wget'],
  ['Mozilla/5.0 (X11; Linux x86_64) captured', 'other'],
  ['-', 'other'],
])('%s is %s', (agent, client) => {
  expect(clientOf(agent)).toBe(client)
})
