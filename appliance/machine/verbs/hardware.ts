import { cpus } from 'node:os'
import type { MachineView } from '../../../server/machine/protocol.ts'
import { findText, type Ports } from '../ports.ts'

/** Bytes of a line such as `MemTotal:  4019284 kB`. */
const memoryOf = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024

// what makers leave in their boards
const NO_NAME = /^(to be filled by o\.?e\.?m\.?|default string|system (manufacturer|product name)|not specified|)$/i

async function modelOf(ports: Ports): Promise<string> {
  const names = []
  for (const file of ['sys_vendor', 'product_name']) {
    const name = (await findText(ports, `/sys/class/dmi/id/${file}`))?.trim() ?? ''
    if (!NO_NAME.test(name)) names.push(name)
  }
  const arm = (await findText(ports, '/sys/firmware/devicetree/base/model'))?.replaceAll('\0', '').trim() ?? ''
  return names.join(' ') || arm || 'unknown model'
}

export async function readHardware(ports: Ports): Promise<MachineView['hardware']> {
  const memory = (await findText(ports, '/proc/meminfo')) ?? ''
  const processors = (await findText(ports, '/proc/cpuinfo')) ?? ''
  const total = memoryOf(memory, 'MemTotal')
  return {
    model: await modelOf(ports),
    cores: processors.match(/^processor\s*:/gm)?.length ?? cpus().length,
    memory: total,
    memory_used: total - memoryOf(memory, 'MemAvailable'),
    up_since: new Date(ports.now().getTime() - ports.upSeconds() * 1000).toISOString(),
  }
}
