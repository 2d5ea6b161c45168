import { expect, test } from 'vitest'
import { posixTar } from '../../../test/support/packages-apk.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { InnerStream } from '../../formats/format.ts'
import { askedOf } from '../asked.ts'
import { readContents } from '../read.ts'

const LAYER = 'layer-1-sha256-0123456789ab'
async function look(files: Readonly<Record<string, string>>, name = LAYER) {
  const tar = posixTar(Object.entries(files).map(([path, body]) => ({ name: path, body })))
  const inner = async function* (): AsyncGenerator<InnerStream> {
    yield {
      name,
      open: async function* () {
        yield tar
      },
    }
  }
  const asked = { format: { inner }, file: {} as SpooledFile }
  const contents = await readContents(asked, { incoming: '/nowhere', signal: new AbortController().signal })
  const packages = askedOf(contents).map(({ at: _, ...one }) => one)
  return {
    packages,
    unopened: contents.unopened.map(({ path }) => path),
    purls: contents.components.map(one => one.purl),
  }
}

const STATUS = `Package: libssl3
Status: install ok installed
Architecture: amd64
Source: openssl (3.0.1-1)
Version: 3.0.1-1+b1
Description: text
 more text

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: bash
Status: install ok installed
Architecture: amd64
Version: 5.2-1
`
const DEBIAN = {
  'var/lib/dpkg/status': STATUS,
  'usr/lib/os-release': 'PRETTY_NAME="Debian"\nID=debian\nVERSION_ID="12"\n',
}

test('what dpkg installed in an image is asked about by its source, in the release that the image is', async () => {
  expect((await look(DEBIAN)).packages).toEqual([
    {
      ecosystem: 'debian-12',
      name: 'bash',
      version: '5.2-1',
      arch: 'amd64',
      source: { name: 'bash', version: '5.2-1' },
    },
    {
      ecosystem: 'debian-12',
      name: 'libssl3',
      version: '3.0.1-1+b1',
      arch: 'amd64',
      source: { name: 'openssl', version: '3.0.1-1' },
    },
  ])
})

test('what apk installed, too; releases of Alpine have two numbers', async () => {
  const installed = 'P:libcrypto3\nV:3.1.4-r5\nA:x86_64\no:openssl\n\n'
  const files = { 'lib/apk/db/installed': installed, 'etc/os-release': 'ID=alpine\nVERSION_ID=3.20.3\n' }
  expect((await look(files)).packages).toEqual([
    {
      ecosystem: 'alpine-3.20',
      name: 'libcrypto3',
      version: '3.1.4-r5',
      arch: 'x86_64',
      source: { name: 'openssl', version: '3.1.4-r5' },
    },
  ])
})

test('a file for each package, as distroless images have them; a system that nothing names is an unknown one', async () => {
  const stanza = 'Package: base-files\nVersion: 12.4\nArchitecture: amd64\n'
  const { packages } = await look({ 'var/lib/dpkg/status.d/base': stanza })
  expect(packages).toMatchObject([{ ecosystem: 'unknown system', name: 'base-files' }])
})

test('only an image has a system: elsewhere such files are somebody’s data', async () => {
  expect((await look(DEBIAN, 'data.tar')).purls).toEqual([])
  expect((await look({ 'srv/var/lib/dpkg/status': STATUS })).purls).toEqual([])
})

test('a database of rpm is named as not read', async () => {
  expect((await look({ 'var/lib/rpm/rpmdb.sqlite': 'x' })).unopened).toEqual([`${LAYER}!/var/lib/rpm/rpmdb.sqlite`])
})

test('libraries that Debian packages are its own; those of others are asked about', async () => {
  const metadata = (name: string): string => `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`
  const { packages } = await look({
    ...DEBIAN,
    'usr/lib/python3/dist-packages/own/__init__.py': '#',
    'usr/lib/python3/dist-packages/own-1.0.dist-info/METADATA': metadata('own'),
    'usr/lib/python3.11/site-packages/third/__init__.py': '#',
    'usr/lib/python3.11/site-packages/third-1.0.dist-info/METADATA': metadata('third'),
    'usr/local/lib/python3.11/site-packages/other/__init__.py': '#',
    'usr/local/lib/python3.11/site-packages/other-1.0.dist-info/METADATA': metadata('other'),
  })
  const languages = packages.filter(({ ecosystem }) => ecosystem === 'pypi')
  expect(languages.map(({ name }) => name)).toEqual(['other', 'third'])
})
