"""First steps of a user of the generated Python client. Arguments: the API's address and a token."""

import sys

from client import AuthenticatedClient
from client.api.channels import create_channel, delete_channel, get_channel, update_channel
from client.api.heartbeat_pings import ping_heartbeat_with_body
from client.api.monitors import create_monitor, delete_monitor, get_monitor, list_monitors, update_monitor
from client.models import (
    AssertionInput,
    AssertionInputOp,
    AssertionSource,
    ChannelCreate,
    ChannelPatch,
    ChannelType,
    CheckSpecInput,
    MonitorCreate,
    MonitorPatch,
    MonitorType,
)
from client.types import File

url, token = sys.argv[1:]
api = AuthenticatedClient(base_url=f"{url}/v1", token=token)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: wanted {wanted!r}, got {got!r}")


assertion = AssertionInput(source=AssertionSource.TEXT_BODY, op=AssertionInputOp.CONTAINS, value="ok")
shop = MonitorCreate(
    name="Shop", target="http://127.0.0.1:9/", follow_redirects=False, check_spec=CheckSpecInput(assertions=[assertion])
)
created = create_monitor.sync(client=api, body=shop)
expect("status of a new monitor", created.status, "pending")
read = get_monitor.sync(created.id, client=api)
expect("follow_redirects", read.follow_redirects, 0)
expect("assertion", read.check_spec.assertions[0].value, "ok")

changed = update_monitor.sync_detailed(created.id, client=api, body=MonitorPatch(name="Shop 2", follow_redirects=1))
expect("change", changed.status_code, 200)
read = get_monitor.sync(created.id, client=api)
expect("name", read.name, "Shop 2")
expect("follow_redirects after the change", read.follow_redirects, 1)

backup = create_monitor.sync(client=api, body=MonitorCreate(name="Backup", type_=MonitorType.HEARTBEAT))
secret = get_monitor.sync(backup.id, client=api).check_spec.heartbeat.token
root = AuthenticatedClient(base_url=url, token=token)
pong = ping_heartbeat_with_body.sync_detailed(secret, client=root, body=File(payload=b"1412 files copied"))
expect("ping", pong.status_code, 200)
expect("monitors", sorted(each.name for each in list_monitors.sync(client=api).monitors), ["Backup", "Shop 2"])

channel = create_channel.sync(client=api, body=ChannelCreate(type_=ChannelType.TELEGRAM, name="Family"))
expect("change of the channel", update_channel.sync(channel.id, client=api, body=ChannelPatch(name="Friends")).ok, True)
expect("name of the channel", get_channel.sync(channel.id, client=api).name, "Friends")
expect("end of the channel", delete_channel.sync(channel.id, client=api).ok, True)
for monitor in (created, backup):
    expect("end of a monitor", delete_monitor.sync_detailed(monitor.id, client=api).status_code, 204)
expect("monitors at the end", list_monitors.sync(client=api).monitors, [])
print("done")
