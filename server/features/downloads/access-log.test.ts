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
  // registries: what their formats call a package
  [line('GET /npm/ours/left-pad/-/left-pad-1.3.0.tgz HTTP/1.1', 200), 'download'],
  [line('GET /npm/ours/@s%2fn/-/n-1.0.0.tgz HTTP/1.1', 200), 'download'],
  [line('GET /npm/ours/left-pad HTTP/1.1', 200), 'index'],
  [line('GET /npm/ours/left-pad/-/left-pad-9.9.9.tgz HTTP/1.1', 404), 'missing'],
  [line('GET /npm/ours/left-pad/-/left-pad-1.3.0.tgz HTTP/1.1', 403), 'refused'],
  [line('GET /npm/ours/-/package/left-pad/dist-tags HTTP/1.1', 200), 'index'],
  [line('POST /npm/ours/-/npm/v1/security/advisories/bulk HTTP/1.1', 200), undefined],
  [line('PUT /npm/ours/left-pad HTTP/1.1', 201), undefined],
  [line('GET /pypi/ours/files/tool/tool-1.0-py3-none-any.whl HTTP/1.1', 200), 'download'],
  [line('GET /pypi/ours/files/tool/tool-1.0.tar.gz HTTP/1.1', 200), 'download'],
  [line('GET /pypi/ours/files/tool/tool-1.0-py3-none-any.whl HTTP/1.1', 206, '"-" "uv/0.9" "bytes=-1024"'), 'range'],
  [line('GET /pypi/ours/files/tool/tool-1.0-py3-none-any.whl.metadata HTTP/1.1', 200), 'index'],
  [line('GET /pypi/ours/files/tool/tool-1.0-py3-none-any.whl.provenance HTTP/1.1', 200), 'index'],
  [line('GET /pypi/ours/simple/tool/ HTTP/1.1', 200), 'index'],
  [line('GET /pypi/ours/simple/tool HTTP/1.1', 301), undefined],
  [line('GET /maven/ours/org/example/lib/1.0/lib-1.0.jar HTTP/1.1', 200), 'download'],
  [line('GET /maven/ours/org/example/app/1.0/app-1.0.apk HTTP/1.1', 200), 'download'],
  // of a parent it is all there is: the catalogue says which it is
  [line('GET /maven/ours/org/example/lib/1.0/lib-1.0.pom HTTP/1.1', 200), 'download'],
  [line('GET /maven/ours/org/example/lib/1.0/lib-1.0.jar.sha1 HTTP/1.1', 200), 'index'],
  [line('GET /maven/ours/org/example/lib/1.0/lib-1.0.jar.asc HTTP/1.1', 200), 'index'],
  [line('GET /maven/ours/org/example/lib/1.0/lib-1.0.module HTTP/1.1', 200), 'index'],
  [line('GET /maven/ours/org/example/lib/maven-metadata.xml HTTP/1.1', 200), 'index'],
  [line('GET /maven/ours/org/example/lib/maven-metadata.xml.sha1 HTTP/1.1', 404), 'refused'],
  [line('GET /v2/ours/app/web/manifests/latest HTTP/1.1', 200), 'download'],
  [line(`GET /v2/ours/app/web/manifests/sha256:${'a'.repeat(64)} HTTP/1.1`, 200), 'download'],
  [line('HEAD /v2/ours/app/web/manifests/latest HTTP/1.1', 200), 'head'],
  [line(`GET /v2/ours/app/web/blobs/sha256:${'a'.repeat(64)} HTTP/1.1`, 200), 'index'],
  [line('GET /v2/ours/app/web/tags/list HTTP/1.1', 200), 'index'],
  [line('GET /v2/ HTTP/1.1', 401), 'refused'],
  [line('GET /v2/token HTTP/1.1', 200), 'index'],
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
  ['npm/11.19.1 node/v24.21.0 linux x64 workspaces/false', 'npm'],
  ['pnpm/10.34.9 npm/? node/v24.21.0 linux x64', 'pnpm'],
  ['yarn/1.22.22 npm/? node/v24.21.0 linux x64', 'yarn'],
  ['Bun/1.2.21', 'bun'],
  ['bun/1.2.21 npm/? node/v24.3.0 linux x64', 'bun'],
  [
    String.raw`pip/23.2.1 {\x22ci\x22:null,\x22distro\x22:{\x22id\x22:\x22bookworm\x22},\x22installer\x22:{\x22name\x22:\x22pip\x22}}`,
    'pip',
  ],
  [String.raw`uv/0.13.9 {\x22installer\x22:{\x22name\x22:\x22uv\x22}}`, 'uv'],
  ['poetry/2.1.3 CPython/3.12.3 Linux/6.8.0', 'poetry'],
  ['twine/7.0.0 CPython/3.12.3', 'twine'],
  ['Apache-Maven/3.8.7 (Java 17.0.15; Linux 6.18.44)', 'mvn'],
  ['Gradle/8.14 (Linux;6.8.0;amd64) (Eclipse Adoptium;17.0.15;17.0.15+6)', 'gradle'],
  ['skopeo/1.9.3', 'skopeo'],
  ['libpod/4.3.1', 'podman'],
  [
    String.raw`docker/28.3.3 go/go1.24.5 git-commit/bea959c kernel/6.8.0 os/linux arch/amd64 UpstreamClient(Docker-Client/28.3.3 \x5C(linux\x5C))`,
    'docker',
  ],
  ['containerd/v2.1.4', 'containerd'],
  ['curl/8.5.0', 'curl'],
  ['Wget/1.21.3', 'wget'],
  ['Mozilla/5.0 (X11; Linux x86_64) captured', 'other'],
  ['-', 'other'],
])('%s is %s', (agent, client) => {
  expect(clientOf(agent)).toBe(client)
})
