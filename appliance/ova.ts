import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, linkSync, openSync, readSync, rmSync, writeFileSync, writeSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { sha256Of } from '../server/lib/digest-file.ts'

export interface Ova {
  readonly name: string
  readonly version: string
  /** Of the disk that is seen inside, in bytes. */
  readonly capacity: number
  /** Of the file, in bytes. */
  readonly size: number
}

// what the machine needs at least, see docs/appliance.md
const CORES = 2
const MEMORY_MB = 4096
const DISK_ID = 'vmdisk1'

/** Elements of an `Item`, which have to stand in the order of the alphabet. */
function item(fields: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(fields)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `        <rasd:${key}>${value}</rasd:${key}>`)
  return `      <Item>\n${lines.join('\n')}\n      </Item>`
}

export const nameOfDisk = (name: string): string => `${name}-disk1.vmdk`

/**
 * The description of the machine, OVF 1.1 (DSP0243). The controller and the network card are those that VMware and
 * VirtualBox both have, and Debian's kernel knows.
 */
export function ovfOf({ name, version, capacity, size }: Ova): string {
  const items = [
    item({
      Caption: `${CORES} virtual CPU`,
      Description: 'Number of virtual CPUs',
      ElementName: `${CORES} virtual CPU`,
      InstanceID: 1,
      ResourceType: 3,
      VirtualQuantity: CORES,
      AllocationUnits: 'hertz * 10^6',
    }),
    item({
      AllocationUnits: 'byte * 2^20',
      Caption: `${MEMORY_MB} MB of memory`,
      Description: 'Memory Size',
      ElementName: `${MEMORY_MB} MB of memory`,
      InstanceID: 2,
      ResourceType: 4,
      VirtualQuantity: MEMORY_MB,
    }),
    item({
      Address: 0,
      Caption: 'SCSI controller',
      Description: 'SCSI controller',
      ElementName: 'SCSI controller',
      InstanceID: 3,
      ResourceSubType: 'lsilogic',
      ResourceType: 6,
    }),
    item({
      AddressOnParent: 0,
      Caption: 'Disk',
      Description: 'Disk',
      ElementName: 'Disk',
      HostResource: `ovf:/disk/${DISK_ID}`,
      InstanceID: 4,
      Parent: 3,
      ResourceType: 17,
    }),
    item({
      AddressOnParent: 7,
      AutomaticAllocation: 'true',
      Caption: 'Network adapter',
      Connection: 'LAN',
      Description: 'Network adapter',
      ElementName: 'Network adapter',
      InstanceID: 5,
      ResourceSubType: 'E1000',
      ResourceType: 10,
    }),
  ]
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope ovf:version="1.0" xml:lang="en-US"
  xmlns="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References>
    <File ovf:href="${nameOfDisk(name)}" ovf:id="file1" ovf:size="${size}"/>
  </References>
  <DiskSection>
    <Info>The disk: it may be made larger, and the last partition grows with it</Info>
    <Disk ovf:capacity="${capacity}" ovf:capacityAllocationUnits="byte" ovf:diskId="${DISK_ID}" ovf:fileRef="file1" ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  </DiskSection>
  <NetworkSection>
    <Info>The network that clients come from</Info>
    <Network ovf:name="LAN">
      <Description>The network that clients come from</Description>
    </Network>
  </NetworkSection>
  <VirtualSystem ovf:id="gatehouse">
    <Info>A package repository behind a security gate</Info>
    <Name>Gatehouse ${version}</Name>
    <OperatingSystemSection ovf:id="96">
      <Info>Debian, 64 bit</Info>
      <Description>Debian_64</Description>
    </OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>What it needs at least; 8 GB of memory are better</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>gatehouse</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType>
      </System>
${items.join('\n')}
    </VirtualHardwareSection>
    <ProductSection>
      <Info>The product</Info>
      <Product>Gatehouse</Product>
      <Vendor>Gatehouse</Vendor>
      <Version>${version}</Version>
    </ProductSection>
  </VirtualSystem>
</Envelope>
`
}

/** Digests of its files, as importers check them. */
export const manifestOf = (digests: readonly (readonly [file: string, sha256: string])[]): string =>
  digests.map(([file, sha256]) => `SHA256(${file})= ${sha256}\n`).join('')

// the description inside a VMDK stands in its second sector; it has an id that qemu-img draws by chance, and its name
const DESCRIPTION = { offset: 512, length: 10_240 }

/** Gives a VMDK an id that follows from its name, and that name: so the same disk gives the same bytes. */
export function settleVmdk(path: string, name: string): void {
  const id = createHash('sha256')
    .update(name)
    .digest('hex')
    .slice(0, 8)
    .replace(/^f{8}$/, '00000001')
  const file = openSync(path, 'r+')
  try {
    const bytes = Buffer.alloc(DESCRIPTION.length)
    readSync(file, bytes, 0, bytes.length, DESCRIPTION.offset)
    const [text = ''] = bytes.toString('latin1').split('\0')
    // `parentCID` stays
    const settled = text.replace(/^CID=[0-9a-f]{1,8}$/m, `CID=${id}`).replace(/^(RW \d+ SPARSE) ".*"$/m, `$1 "${name}"`)
    if (!settled.includes(`CID=${id}\n`) || !settled.includes(` SPARSE "${name}"\n`))
      throw new Error(`${path} has no description where one is expected`)
    bytes.fill(0).write(settled, 'latin1')
    writeSync(file, bytes, 0, bytes.length, DESCRIPTION.offset)
  } finally {
    closeSync(file)
  }
}

/**
 * An OVA, as VMware and VirtualBox import it: a tar whose first file is the description, then digests, then the disk.
 * @param vmdk  of the kind streamOptimized @param work  a folder of its own
 */
export async function writeOva({
  vmdk,
  work,
  out,
  date,
  ...about
}: Ova & { readonly vmdk: string; readonly work: string; readonly out: string; readonly date: number }): Promise<void> {
  const { name } = about
  mkdirSync(work, { recursive: true })
  const disk = join(work, nameOfDisk(name))
  rmSync(disk, { force: true })
  linkSync(vmdk, disk)
  writeFileSync(join(work, `${name}.ovf`), ovfOf(about))
  const files = [`${name}.ovf`, basename(disk)]
  const digests = await Promise.all(files.map(async file => [file, await sha256Of(join(work, file))] as const))
  writeFileSync(join(work, `${name}.mf`), manifestOf(digests))
  execFileSync('tar', [
    ...['--format=ustar', `--mtime=@${date}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=0644'],
    ...['-C', work, '-cf', out, `${name}.ovf`, `${name}.mf`, basename(disk)],
  ])
  rmSync(disk)
}
