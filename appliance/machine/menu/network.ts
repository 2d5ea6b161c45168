import type { AskedWith, NetworkView } from '../../../server/machine/protocol.ts'
import type { Menu } from './context.ts'
import { choose } from './terminal.ts'

type Wish = AskedWith<'network.set'>

const listOf = (typed: string): string[] => typed.split(/[\s,]+/).filter(Boolean)

export function networkLines({ interface: cable, host_name, method, addresses, gateway, dns }: NetworkView): string[] {
  const kinds = { dhcp: 'by DHCP', static: 'fixed', other: 'kept by another program' }
  return [
    `  Name       ${host_name}`,
    `  Card       ${cable ?? 'none'}`,
    `  Address    ${addresses.join(', ') || 'none'} (${kinds[method]})`,
    `  Gateway    ${gateway ?? 'none'}`,
    ...(dns.length === 0 ? ['  DNS        none'] : dns.map(({ address, said }) => `  DNS        ${address} ${said}`)),
  ]
}

/** What is there now, as it is asked for. */
const asItIs = ({ method, addresses, gateway, dns }: NetworkView): Wish =>
  method === 'static'
    ? {
        method,
        ...(addresses[0] === undefined ? {} : { address: addresses[0] }),
        ...(gateway === null ? {} : { gateway }),
        dns: dns.map(one => one.address),
      }
    : { method: 'dhcp' }

async function askFixed({ terminal }: Menu, { addresses, gateway, dns }: NetworkView): Promise<Wish> {
  const or = async (question: string, present: string): Promise<string> =>
    (await terminal.ask(`${question}${present === '' ? '' : ` [${present}]`}: `)) || present
  const address = await or('Address with the length of its network, as 10.20.1.10/24', addresses[0] ?? '')
  const through = await or('Gateway (- for none)', gateway ?? '')
  const servers = listOf(await or('DNS servers (- for none)', dns.map(one => one.address).join(' ')))
  return {
    method: 'static',
    address,
    ...(through === '' || through === '-' ? {} : { gateway: through }),
    dns: servers.filter(one => one !== '-').slice(0, 4),
  }
}

export async function changeNetwork(menu: Menu): Promise<void> {
  const { terminal, ask } = menu
  const { network } = await ask('machine.read', {})
  terminal.say(`\nNetwork\n\n${networkLines(network).join('\n')}`)
  const chosen = await choose(terminal, ['Address by DHCP', 'Fixed address', 'Name of this machine'])
  let wish: Wish = { method: 'dhcp' }
  if (chosen === 1) wish = await askFixed(menu, network)
  if (chosen === 2) {
    const name = (await terminal.ask(`Name [${network.host_name}]: `)).toLowerCase() || network.host_name
    wish = { ...asItIs(network), host_name: name }
  }
  terminal.say('One moment.')
  const { said } = await ask('network.set', wish)
  terminal.say(said)
  const { network: now } = await ask('machine.read', {})
  terminal.say(networkLines(now).join('\n'))
  if ((await terminal.ask('Keep it? Type yes within 90 seconds: ')).toLowerCase() !== 'yes') {
    terminal.say('It goes back by itself.')
    return
  }
  terminal.say((await ask('network.keep', {})).said)
}
