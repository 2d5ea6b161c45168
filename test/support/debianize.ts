import { spawn } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Developer } from './gpg.ts'
import { mustRun, type Ran } from './tools.ts'

// debhelper's way of making debug symbols, by hand: it need not be installed
const RULES = `#!/usr/bin/make -f
clean:
	rm -rf debian/acme debian/acme-dbgsym debian/files
build build-arch build-indep binary-indep:
binary binary-arch:
	mkdir -p debian/acme/DEBIAN debian/acme/usr/bin debian/acme-dbgsym/DEBIAN debian/acme-dbgsym/usr/lib/debug
	cp hello debian/acme/usr/bin/acme
	cp hello debian/acme-dbgsym/usr/lib/debug/acme.debug
	dpkg-gencontrol -pacme -Pdebian/acme
	dpkg-deb --root-owner-group -b debian/acme ..
	dpkg-gencontrol -pacme -DPackage=acme-dbgsym -DSection=$(SECTION)debug -DAuto-Built-Package=debug-symbols \\
	  '-DDepends=acme (= $\${binary:Version})' '-DDescription=debug symbols for acme' -Pdebian/acme-dbgsym
	dpkg-deb --root-owner-group -b debian/acme-dbgsym ..
`

export interface Build {
  readonly version: string
  readonly distribution: string
  /** `source` builds no binaries; `source -sd` leaves the upstream tarball out of the .changes. */
  readonly args?: readonly string[]
  /** What the binaries are built for, amd64 unless said: nothing is compiled, so no compiler for it is needed. */
  readonly arch?: string
  /** Component of all of them; main unless said. */
  readonly component?: string
  readonly developer: Developer
}

/** Builds the package acme with dpkg-buildpackage below `folder`, signed. @returns the path of its .changes */
export async function buildAcme(
  folder: string,
  { version, distribution, args = [], arch = 'amd64', component, developer }: Build,
): Promise<string> {
  const tree = join(folder, 'acme-1.0')
  await mkdir(join(tree, 'debian/source'), { recursive: true })
  await writeFile(join(tree, 'hello'), 'hello\n')
  await mustRun('sh', ['-c', 'test -e acme_1.0.orig.tar.gz || tar -czf acme_1.0.orig.tar.gz acme-1.0/hello'], {
    cwd: folder,
  })
  await writeFile(join(tree, 'debian/source/format'), '3.0 (quilt)\n')
  await writeFile(
    join(tree, 'debian/changelog'),
    `acme (${version}) ${distribution}; urgency=medium\n\n  * New. Closes: #7\n\n -- Jo <jo@example.test>  Sun, 22 Nov 2026 10:00:00 +0000\n`,
  )
  await writeFile(
    join(tree, 'debian/control'),
    [
      'Source: acme',
      `Section: ${component === undefined ? '' : `${component}/`}utils`,
      'Priority: optional',
      'Maintainer: Jo <jo@example.test>',
      'Build-Depends: libacme-dev (>= 2), make',
      'Standards-Version: 4.6.2',
      '',
      'Package: acme',
      'Architecture: any',
      'Description: does things',
      ' It does many things.',
      '',
    ].join('\n'),
  )
  await writeFile(join(tree, 'debian/rules'), RULES)
  await chmod(join(tree, 'debian/rules'), 0o755)
  await mustRun('dpkg-buildpackage', ['-d', `-a${arch}`, `-k${developer.fingerprint}`, ...args], {
    cwd: tree,
    env: {
      GNUPGHOME: developer.home,
      DEB_BUILD_OPTIONS: '',
      SECTION: component === undefined ? '' : `${component}/`,
    },
  })
  return join(folder, `acme_${version}_${args.includes('-S') ? 'source' : arch}.changes`)
}

/** Runs dput as a developer does; it asks for the password on its standard input when there is no terminal. */
export async function dput(
  changes: string,
  to: { readonly url: string; readonly codename: string; readonly token: string; readonly home: string },
): Promise<Ran> {
  const config = join(to.home, 'dput.cf')
  await writeFile(
    config,
    `[DEFAULT]\nlogin = *\n[gatehouse]\nfqdn = ${new URL(to.url).host}\nmethod = http\nincoming = /incoming/${to.codename}\nlogin = ci\nallow_unsigned_uploads = 0\nrun_dinstall = 0\nprogress_indicator = 0\n`,
  )
  return new Promise((resolve, reject) => {
    const child = spawn('setsid', ['-w', 'dput', '-f', '-U', '-c', config, 'gatehouse', changes], {
      env: { ...process.env, LC_ALL: 'C.UTF-8', GNUPGHOME: to.home, HOME: to.home },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    child.once('error', reject)
    child.once('close', code => resolve({ code, out, err }))
    child.stdin.end(`${to.token}\n`)
  })
}
