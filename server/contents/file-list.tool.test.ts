import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spoolPath } from '../../test/support/packages.ts'
import { rpmbuild } from '../../test/support/rpm-tools.ts'
import { lacking, mustRun } from '../../test/support/tools.ts'
import { getFormat } from '../formats/index.ts'
import { listFiles } from './file-list.ts'
import { LIMITS } from './limits.ts'
import { createRoom } from './room.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-list-'))
})
afterAll(() => rm(folder, { recursive: true }))

const SPEC = `
Name: owned
Version: 1.0
Release: 1
Summary: s
License: MIT
BuildArch: noarch
%description
d
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/etc/owned %{buildroot}/var/lib/owned
for one in tool ping plain; do echo $one > %{buildroot}/usr/bin/$one; done
echo secret > %{buildroot}/etc/owned/key
ln -s tool %{buildroot}/usr/bin/alias
touch %{buildroot}/var/lib/owned/state
%files
%attr(4750, root, adm) /usr/bin/tool
%attr(0755, root, root) %caps(cap_net_raw=ep) /usr/bin/ping
%attr(0644, root, root) /usr/bin/plain
/usr/bin/alias
%dir %attr(2770, owned, www-data) /etc/owned
%attr(0640, owned, www-data) /etc/owned/key
%ghost /var/lib/owned/state
`

test.skipIf(lacking('rpm').length > 0)(
  'owners, modes, links and capabilities of the files of an rpm are those that rpm says',
  async () => {
    const [path = ''] = await rpmbuild(folder, SPEC)
    const { files, cut } = await listFiles(getFormat('rpm').inner(await spoolPath(path)), {
      room: createRoom(folder, LIMITS),
      signal: new AbortController().signal,
    })
    expect(cut).toBeUndefined()
    const out = await mustRun('rpm', [
      '-qp',
      '--qf',
      '[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILELINKTOS} %{FILECAPS}\\n]',
      path,
    ])
    // a ghost is in no payload: installing does not put it there
    const said = out
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('/var/lib/owned/state'))
      .map(line => line.trimEnd())
    const ours = [...files].map(([name, { type, mode = 0, owner, link = '', capabilities = '' }]) => {
      const kind = { file: 0o100000, symlink: 0o120000, directory: 0o040000 }[String(type)] ?? 0
      return `/${name} ${(kind | mode).toString(8)} ${owner} ${link} ${capabilities}`.trimEnd()
    })
    expect(ours.sort()).toEqual(said.sort())
    expect(files.get('usr/bin/tool')).toMatchObject({ mode: 0o4750, owner: 'root:adm' })
    expect(files.get('etc/owned/key')).toMatchObject({ mode: 0o640, owner: 'owned:www-data', size: 7 })
    expect(files.get('usr/bin/alias')).toMatchObject({ type: 'symlink', link: 'tool' })
  },
)
