import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MIB = 1024 ** 2
const SECTORS = MIB / 512

/** The partitions in their order, in MiB. The last one grows with the disk. */
const PARTS = [
  { name: 'esp', size: 512, type: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B', attrs: ', attrs=LegacyBIOSBootable' },
  { name: 'root-a', size: 3072, type: '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709', attrs: '' },
  { name: 'root-b', size: 3072, type: '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709', attrs: '' },
  { name: 'data', size: 8192, type: '0FC63DAF-8483-4772-8E79-3D69D8477DE4', attrs: '' },
] as const
type PartName = (typeof PARTS)[number]['name']

/** What the partition data holds: folder there, and where it is seen. `disk/root/etc/fstab` names the same. */
export const LASTING = {
  config: 'etc/gatehouse',
  repos: 'repos',
  postgres: 'var/lib/gatehouse-postgres',
  state: 'var/lib/gatehouse',
  clamav: 'var/lib/clamav',
  log: 'var/log',
} as const

/** The program that a BIOS begins with. */
export const MASTER_BOOT_RECORD = '/usr/lib/syslinux/mbr/gptmbr.bin'

const KERNEL_LINE = 'rw quiet loglevel=3 panic=30 console=tty0 console=ttyS0,115200'

/** An id that the same version and part always get. */
export function idOf(seed: string, part: string): string {
  const hex = createHash('sha256').update(`${seed} ${part}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const startOf = (part: PartName): number =>
  1 +
  PARTS.slice(
    0,
    PARTS.findIndex(({ name }) => name === part),
  ).reduce((sum, { size }) => sum + size, 0)
const sizeOf = (part: PartName): number => PARTS.find(({ name }) => name === part)?.size ?? 0

export interface DiskOptions {
  /** The root of the appliance; folders of `LASTING` are on the partition data. */
  readonly root: string
  /** The disk image that is written. */
  readonly disk: string
  readonly work: string
  readonly version: string
  /** Seconds since 1970: no file is newer. */
  readonly date: number
}

function createPartitions({ disk, version }: DiskOptions): void {
  rmSync(disk, { force: true })
  writeFileSync(disk, '')
  truncateSync(disk, (PARTS.reduce((sum, { size }) => sum + size, 0) + 2) * MIB)
  const lines = PARTS.map(
    ({ name, size, type, attrs }) =>
      `start=${startOf(name) * SECTORS}, size=${size * SECTORS}, type=${type}, uuid=${idOf(version, name)}, name=${name}${attrs}`,
  )
  execFileSync('sfdisk', ['--quiet', disk], {
    input: `label: gpt\nlabel-id: ${idOf(version, 'disk')}\n${lines.join('\n')}\n`,
  })
}

/**
 * systemd-boot for UEFI, which counts tries of a slot, and syslinux for BIOS. Both read the kernel from the ESP, which
 * `boot-files` renews.
 */
function fillEsp({ root, disk, work, version, date }: DiskOptions): void {
  const at = `${disk}@@${startOf('esp') * MIB}`
  const env = { ...process.env, MTOOLS_SKIP_CHECK: '1', SOURCE_DATE_EPOCH: String(date) }
  // mtools writes the time of the day beside that of the file
  const tool = (name: string, ...args: readonly string[]): void =>
    void execFileSync(
      'faketime',
      ['-f', `@${new Date(date * 1000).toISOString().slice(0, 19).replace('T', ' ')}`, name, ...args],
      {
        env: { ...env, TZ: 'UTC' },
      },
    )
  const text = (name: string, content: string): string => {
    const path = join(work, name)
    writeFileSync(path, content)
    return path
  }
  const [kernel = ''] = globSync('boot/vmlinuz-*', { cwd: root })
  const [initrd = ''] = globSync('boot/initrd.img-*', { cwd: root })
  const loader = join(root, 'usr/lib/systemd/boot/efi/systemd-bootx64.efi')
  const serial = idOf(version, 'esp').slice(0, 8)
  tool(
    'mformat',
    '-i',
    at,
    '-F',
    '-v',
    'GATEHOUSE',
    '-N',
    serial,
    '-T',
    String(sizeOf('esp') * SECTORS),
    '-h',
    '255',
    '-s',
    '63',
    '::',
  )
  const folders = ['EFI', 'EFI/BOOT', 'EFI/systemd', 'loader', 'loader/entries', 'syslinux', 'a', 'b']
  tool('mmd', '-i', at, ...folders.map(folder => `::/${folder}`))
  const files: readonly (readonly [from: string, to: string])[] = [
    [loader, 'EFI/BOOT/BOOTX64.EFI'],
    [loader, 'EFI/systemd/systemd-bootx64.efi'],
    [join(root, kernel), 'a/vmlinuz'],
    [join(root, initrd), 'a/initrd.img'],
    [text('loader.conf', 'default gatehouse-*\ntimeout 2\neditor no\n'), 'loader/loader.conf'],
    [
      text(
        'entry.conf',
        `title Gatehouse (slot a)\nversion ${version}\nlinux /a/vmlinuz\ninitrd /a/initrd.img\noptions root=PARTLABEL=root-a ${KERNEL_LINE}\n`,
      ),
      'loader/entries/gatehouse-a.conf',
    ],
    [
      text(
        'syslinux.cfg',
        `SERIAL 0 115200\nDEFAULT a\nTIMEOUT 20\nLABEL a\n LINUX /a/vmlinuz\n INITRD /a/initrd.img\n APPEND root=PARTLABEL=root-a ${KERNEL_LINE}\n`,
      ),
      'syslinux/syslinux.cfg',
    ],
  ]
  for (const [from, to] of files) tool('mcopy', '-i', at, from, `::/${to}`)
  tool('syslinux', '--install', '--offset', String(startOf('esp') * MIB), '--directory', '/syslinux', disk)
  execFileSync('dd', [`if=${MASTER_BOOT_RECORD}`, `of=${disk}`, 'bs=440', 'count=1', 'conv=notrunc', 'status=none'])
}

/** mke2fs of the root itself: from 1.47.1 on it makes the same bytes for the same files. */
function fillExt4(from: string, part: PartName, { root, disk, version, date }: DiskOptions): void {
  const lib = join(root, 'usr/lib/x86_64-linux-gnu')
  execFileSync(
    join(root, 'usr/lib64/ld-linux-x86-64.so.2'),
    [
      ...['--library-path', lib, join(root, 'usr/sbin/mke2fs'), '-q', '-t', 'ext4', '-L', part, '-m', '1'],
      ...['-U', idOf(version, `${part} fs`)],
      ...[
        '-E',
        `offset=${startOf(part) * MIB},hash_seed=${idOf(version, `${part} hash`)},lazy_itable_init=0,root_owner=0:0`,
      ],
      ...['-d', from, disk, `${sizeOf(part)}M`],
    ],
    { env: { ...process.env, MKE2FS_CONFIG: join(root, 'etc/mke2fs.conf'), SOURCE_DATE_EPOCH: String(date) } },
  )
}

/** No file is newer than the date; ctime is set by mke2fs in the same way. */
function clampTimes(folder: string, date: number): void {
  execFileSync('find', [folder, '-xdev', '-newermt', `@${date}`, '-exec', 'touch', '-h', '-d', `@${date}`, '{}', '+'])
}

/** Writes a disk image that BIOS and UEFI boot. Uses no loop device and mounts nothing. */
export function writeDisk(options: DiskOptions): void {
  const { root, work, date } = options
  const data = join(work, 'data')
  mkdirSync(data, { recursive: true })
  for (const [name, path] of Object.entries(LASTING)) {
    execFileSync('cp', ['-a', '--no-target-directory', join(root, path), join(data, name)])
    rmSync(join(root, path), { recursive: true })
    mkdirSync(join(root, path))
  }
  mkdirSync(join(root, 'data'), { recursive: true })
  mkdirSync(join(root, 'efi'), { recursive: true })
  for (const folder of [root, data]) clampTimes(folder, date)
  createPartitions(options)
  fillEsp(options)
  fillExt4(root, 'root-a', options)
  fillExt4(data, 'data', options)
}
