import { expect, test } from 'vitest'
import { purls } from '../../../test/support/contents.ts'
import { otherReaders } from './readers.ts'

const WHY = 'It is a package of a distribution that is not known; what is inside it is read.'
const names = (path: string, content: Buffer | string) => purls(otherReaders, path, content)

test('a .deb, .apk or .rpm inside a package is named', async () => {
  const control = 'Package: inner\nSource: other\nVersion: 1:2.0-3\nArchitecture: all\n'
  expect(await names('opt/i.deb!/control.tar.gz!/control', control)).toEqual([
    `pkg:deb/inner@1:2.0-3 shipped certain: ${WHY}`,
  ])
  await expect(names('control.tar!/control', control)).rejects.toThrow('not wanted')
  expect(await names('opt/i.apk!/.PKGINFO', '# made\npkgname = inner\npkgver = 1.0-r0\n')).toEqual([
    `pkg:apk/inner@1.0-r0 shipped certain: ${WHY}`,
  ])
  const lead = (name: string): Buffer => {
    const bytes = Buffer.alloc(96)
    Buffer.from('edabeedb0300', 'hex').copy(bytes)
    bytes.write(name, 10)
    return bytes
  }
  expect(await names('opt/i.rpm', lead('inner-libs-1.0-1.el9'))).toEqual([
    `pkg:rpm/inner-libs@1.0-1.el9 shipped certain: ${WHY}`,
  ])
  expect(await names('opt/i.rpm', lead(`${'x'.repeat(60)}-1.0-2`).fill('y', 70, 76))).toEqual([])
  expect(await names('opt/i.rpm', lead('inner'))).toEqual([])
})
