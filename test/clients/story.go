// First steps of a user of the generated Go client. Arguments: the API's address and a token.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	url, token := os.Args[1], os.Args[2]
	ctx := context.Background()
	api, err := NewClientWithResponses(url+"/v1", WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	check(err)

	follow := FollowRedirects{}
	check(follow.FromFollowRedirects0(false))
	created, err := api.CreateMonitorWithResponse(ctx, MonitorCreate{
		Name:            "Shop",
		Target:          ptr("http://127.0.0.1:9/"),
		FollowRedirects: &follow,
		CheckSpec:       &CheckSpecInput{Assertions: &[]AssertionInput{{Source: "text_body", Op: "contains", Value: ptr("ok")}}},
	})
	check(err)
	expect("creation", created.StatusCode(), 201)
	id := created.JSON201.Id
	read, err := api.GetMonitorWithResponse(ctx, id)
	check(err)
	expect("follow_redirects", int(read.JSON200.FollowRedirects), 0)
	expect("assertion", *(*read.JSON200.CheckSpec.Assertions)[0].Value, "ok")

	check(follow.FromFollowRedirects1(1))
	changed, err := api.UpdateMonitorWithResponse(ctx, id, MonitorPatch{Name: ptr("Shop 2"), FollowRedirects: &follow})
	check(err)
	expect("change", changed.StatusCode(), 200)
	read, err = api.GetMonitorWithResponse(ctx, id)
	check(err)
	expect("name", read.JSON200.Name, "Shop 2")
	expect("follow_redirects after the change", int(read.JSON200.FollowRedirects), 1)

	backup, err := api.CreateMonitorWithResponse(ctx, MonitorCreate{Name: "Backup", Type: ptr(MonitorType("heartbeat"))})
	check(err)
	heartbeat, err := api.GetMonitorWithResponse(ctx, backup.JSON201.Id)
	check(err)
	root, err := NewClientWithResponses(url)
	check(err)
	secret := *heartbeat.JSON200.CheckSpec.Heartbeat.Token
	pong, err := root.PingHeartbeatWithBodyWithBodyWithResponse(ctx, secret, "application/octet-stream", strings.NewReader("1412 files copied"))
	check(err)
	expect("ping", pong.StatusCode(), 200)

	channel, err := api.CreateChannelWithResponse(ctx, ChannelCreate{Type: ptr(ChannelType("telegram")), Name: ptr("Family")})
	check(err)
	channelId := channel.JSON201.Id
	renamed, err := api.UpdateChannelWithResponse(ctx, channelId, ChannelPatch{Name: ptr("Friends")})
	check(err)
	expect("change of the channel", renamed.StatusCode(), 200)
	readChannel, err := api.GetChannelWithResponse(ctx, channelId)
	check(err)
	expect("name of the channel", readChannel.JSON200.Name, "Friends")
	gone, err := api.DeleteChannelWithResponse(ctx, channelId)
	check(err)
	expect("end of the channel", gone.StatusCode(), 200)
	for _, monitor := range []string{id, backup.JSON201.Id} {
		ended, err := api.DeleteMonitorWithResponse(ctx, monitor)
		check(err)
		expect("end of a monitor", ended.StatusCode(), 204)
	}
	list, err := api.ListMonitorsWithResponse(ctx, nil)
	check(err)
	expect("monitors at the end", len(list.JSON200.Monitors), 0)
	fmt.Println("done")
}

func ptr[T any](value T) *T { return &value }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect[T comparable](what string, got, wanted T) {
	if got != wanted {
		check(fmt.Errorf("%s: wanted %v, got %v", what, wanted, got))
	}
}
