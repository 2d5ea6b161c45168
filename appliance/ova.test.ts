import { expect, test } from 'vitest'
import { manifestOf, ovfOf } from './ova.ts'

const OVF = ovfOf({ name: 'gatehouse-1.2.3-x64', version: '1.2.3', capacity: 15_569_256_448, size: 4_000 })

test('the elements of each item stand in the order of the alphabet, as VMware asks', () => {
  const items = OVF.match(/<Item>[^]*?<\/Item>/g) ?? []
  expect(items).toHaveLength(5)
  for (const one of items) {
    const names = [...one.matchAll(/<rasd:(\w+)>/g)].map(([, name]) => name)
    expect(names).toEqual([...names].sort())
    for (const name of ['ElementName', 'InstanceID', 'ResourceType']) expect(names).toContain(name)
  }
  const ids = [...OVF.matchAll(/<rasd:InstanceID>(\d+)/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every element that begins ends', () => {
  const open: string[] = []
  for (const [, end, name = '', rest = ''] of OVF.matchAll(/<(\/)?([\w:]+)([^>]*)>/g))
    if (end !== undefined) expect(open.pop()).toBe(name)
    else if (!rest.endsWith('/')) open.push(name)
  expect(open).toEqual([])
})

test('what is referred to is there: the disk, its file, its controller, the network', () => {
  expect(OVF).toContain('ovf:href="gatehouse-1.2.3-x64-disk1.vmdk" ovf:id="file1" ovf:size="4000"')
  expect(OVF).toContain(
    'ovf:capacity="15569256448" ovf:capacityAllocationUnits="byte" ovf:diskId="vmdisk1" ovf:fileRef="file1"',
  )
  expect(OVF).toContain('<rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource>')
  expect(OVF).toMatch(/<rasd:InstanceID>3<\/rasd:InstanceID>\s*<rasd:ResourceSubType>lsilogic/)
  expect(OVF).toContain('<rasd:Parent>3</rasd:Parent>')
  expect(OVF).toContain('<rasd:Connection>LAN</rasd:Connection>')
  expect(OVF).toContain('<Network ovf:name="LAN">')
})

test('its digests are written as importers read them', () => {
  expect(
    manifestOf([
      ['a.ovf', 'ab'],
      ['a.vmdk', 'cd'],
    ]),
  ).toBe('SHA256(a.ovf)= ab\nSHA256(a.vmdk)= cd\n')
})
